//! CSV form of encoder input, as the reference models read it: a line of column names, then one line per
//! cycle.
//!
//! `itype_0,cause,tval,priv,iaddr_0,context,ctype,iretire_0,ilastsize_0` are the columns for a hart that
//! retires one block a cycle; further ports have `_1` and so on. `time`, `sijump_N` and `trigger_N` (a
//! notification) are optional. Addresses and trap values are hexadecimal, all other values decimal.

use core::fmt;

use tracewright_isa::riscv::IType;

use super::{CType, Entry, MAX_PORTS};

/// Unit of `iretire`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Retirement {
    /// Instructions, at most one: single-retirement.
    #[default]
    Instruction,
    /// Half-words of a block.
    Block,
}

/// Error in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvError {
    /// Number of the line, counted from 1.
    pub line: u64,
    /// Error.
    pub problem: Problem,
}

/// Kind of error in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// Missing first line.
    NoHeader,
    /// Unknown column.
    UnknownColumn(String),
    /// Missing column.
    MissingColumn(String),
    /// Column that occurs twice.
    TwiceColumn(String),
    /// More or fewer values than columns.
    Values {
        /// Number of columns.
        expected: usize,
        /// Number of values.
        found: usize,
    },
    /// Value that is not valid in its column.
    Value {
        /// Name of the column.
        column: String,
        /// Value, or its beginning.
        value: String,
    },
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Problem::NoHeader => f.write_str("expected the names of columns")?,
            Problem::UnknownColumn(name) => write!(f, "unknown column {name:?}")?,
            Problem::MissingColumn(name) => write!(f, "no column {name:?}")?,
            Problem::TwiceColumn(name) => write!(f, "column {name:?} is there twice")?,
            Problem::Values { expected, found } => write!(f, "expected {expected} values, found {found}")?,
            Problem::Value { column, value } => write!(f, "{value:?} is no {column}")?,
        }
        write!(f, " (line {})", self.line)
    }
}

impl core::error::Error for CsvError {}

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    IType,
    Cause,
    Tval,
    Priv,
    IAddr,
    Context,
    CType,
    IRetire,
    ILastSize,
    SiJump,
    Time,
    Trigger,
}

/// Name, content, whether each port has one, and whether the column is required.
const FIELDS: [(&str, Field, bool, bool); 12] = [
    ("itype", Field::IType, true, true),
    ("cause", Field::Cause, false, true),
    ("tval", Field::Tval, false, true),
    ("priv", Field::Priv, false, true),
    ("iaddr", Field::IAddr, true, true),
    ("context", Field::Context, false, false),
    ("ctype", Field::CType, false, false),
    ("iretire", Field::IRetire, true, true),
    ("ilastsize", Field::ILastSize, true, true),
    ("sijump", Field::SiJump, true, false),
    ("time", Field::Time, false, false),
    ("trigger", Field::Trigger, true, false),
];

/// Reader of CSV text.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    line: u64,
    retirement: Retirement,
    /// Content and port of each column.
    columns: Vec<(Field, usize)>,
    ports: usize,
    /// Entries of the last line, and the index of the next one.
    row: [Entry; MAX_PORTS],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Creates a reader and reads the first line.
    ///
    /// # Errors
    /// Fails if the columns are wrong.
    pub fn new(text: &'a [u8], retirement: Retirement) -> Result<Self, CsvError> {
        let row = [Entry::NOTHING; MAX_PORTS];
        let mut reader = Self { rest: text, line: 0, retirement, columns: Vec::new(), ports: 0, row, at: 0 };
        let error = |problem| CsvError { line: 1, problem };
        let header = reader.next_line().ok_or(error(Problem::NoHeader))?;
        for name in header.split(|&byte| byte == b',') {
            let shown = || shown(name);
            let column = column(name).ok_or_else(|| error(Problem::UnknownColumn(shown())))?;
            if reader.columns.contains(&column) {
                return Err(error(Problem::TwiceColumn(shown())));
            }
            reader.ports = reader.ports.max(column.1 + 1);
            reader.columns.push(column);
        }
        for (name, field, is_per_port, is_required) in FIELDS {
            for port in 0..if is_per_port { reader.ports } else { 1 } {
                if is_required && !reader.columns.contains(&(field, port)) {
                    let name = if is_per_port { format!("{name}_{port}") } else { name.to_owned() };
                    return Err(error(Problem::MissingColumn(name)));
                }
            }
        }
        reader.at = reader.ports;
        Ok(reader)
    }

    /// Returns the number of ports.
    pub fn ports(&self) -> usize {
        self.ports
    }

    fn next_line(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|&byte| byte == b'\n').unwrap_or(self.rest.len());
        let line = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        self.line += 1;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// Reads a line into `row`.
    fn read_row(&mut self, line: &[u8]) -> Result<(), CsvError> {
        let number = self.line;
        let error = |problem| CsvError { line: number, problem };
        let mut row = [Entry { cycle: number - 1, ..Entry::NOTHING }; MAX_PORTS];
        let mut values = line.split(|&byte| byte == b',');
        for &(field, port) in &self.columns {
            let value = values.next().and_then(|text| self.set(&mut row, field, port, text).err());
            if let Some(text) = value {
                let name = FIELDS.iter().find(|&&(_, other, ..)| other == field).map_or("", |field| field.0);
                return Err(error(Problem::Value { column: name.to_owned(), value: shown(text) }));
            }
        }
        let (expected, found) = (self.columns.len(), line.split(|&byte| byte == b',').count());
        if expected != found {
            return Err(error(Problem::Values { expected, found }));
        }
        for entry in &mut row[..self.ports] {
            match self.retirement {
                Retirement::Instruction => entry.iretire <<= entry.ilastsize,
                // A block is at least as long as its last instruction.
                Retirement::Block if (1..1 << entry.ilastsize).contains(&entry.iretire) => {
                    let value = entry.iretire.to_string();
                    return Err(error(Problem::Value { column: "iretire".to_owned(), value }));
                }
                Retirement::Block => {}
            }
        }
        (self.row, self.at) = (row, 0);
        Ok(())
    }

    /// Sets a field. Returns the text if it is not a valid value.
    fn set<'t>(
        &self,
        row: &mut [Entry; MAX_PORTS],
        field: Field,
        port: usize,
        text: &'t [u8],
    ) -> Result<(), &'t [u8]> {
        let radix = if matches!(field, Field::Tval | Field::IAddr) { 16 } else { 10 };
        let value = number(text, radix).ok_or(text)?;
        let at_most = |most: u64| if value <= most { Ok(value) } else { Err(text) };
        let most_retired = if self.retirement == Retirement::Instruction { 1 } else { 1 << 30 };
        let entry = &mut row[port];
        match field {
            Field::IType => entry.itype = IType::from_number(at_most(15)? as u8).ok_or(text)?,
            Field::IAddr => entry.iaddr = value,
            Field::IRetire => entry.iretire = at_most(most_retired)? as u32,
            Field::ILastSize => entry.ilastsize = at_most(3)? as u8,
            Field::SiJump => entry.sijump = at_most(1)? == 1,
            Field::Trigger => entry.notify = at_most(1)? == 1,
            Field::Cause => row.iter_mut().for_each(|entry| entry.cause = value),
            Field::Tval => row.iter_mut().for_each(|entry| entry.tval = value),
            Field::Priv => {
                // 2 and 7 are reserved.
                let privilege = at_most(6)? as u8;
                if privilege == 2 {
                    return Err(text);
                }
                row.iter_mut().for_each(|entry| entry.privilege = privilege);
            }
            Field::Context => row.iter_mut().for_each(|entry| entry.context = value),
            Field::CType => {
                let ctype = CType::from_number(at_most(3)? as u8).ok_or(text)?;
                row.iter_mut().for_each(|entry| entry.ctype = ctype);
            }
            Field::Time => row.iter_mut().for_each(|entry| entry.time = value),
        }
        Ok(())
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Entry, CsvError>;

    /// Returns the next entry that is not empty. After an error, continues with the next line.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while self.at < self.ports {
                self.at += 1;
                let entry = self.row[self.at - 1];
                if entry.iretire > 0 || entry.is_trap() {
                    return Some(Ok(entry));
                }
            }
            let line = self.next_line()?;
            if !line.is_empty()
                && let Err(error) = self.read_row(line)
            {
                return Some(Err(error));
            }
        }
    }
}

/// Writes the first line, with all columns, for `ports` ports.
pub fn write_header(ports: usize, out: &mut Vec<u8>) {
    let mut names = Vec::new();
    for (name, _, is_per_port, _) in FIELDS {
        match is_per_port {
            true => names.extend((0..ports).map(|port| format!("{name}_{port}"))),
            false => names.push(name.to_owned()),
        }
    }
    out.extend_from_slice(names.join(",").as_bytes());
    out.push(b'\n');
}

/// Writes a line: the entries that retired in a cycle, on as many ports as the first line has. Ports without
/// an entry are empty. Shared columns are taken from the last entry, which has the trap if there is one.
pub fn write_row(entries: &[Entry], ports: usize, retirement: Retirement, out: &mut Vec<u8>) {
    let common = entries.last().copied().unwrap_or(Entry::NOTHING);
    let mut is_first = true;
    let mut put = |text: fmt::Arguments<'_>| {
        if !core::mem::take(&mut is_first) {
            out.push(b',');
        }
        out.extend_from_slice(text.to_string().as_bytes());
    };
    for (_, field, is_per_port, _) in FIELDS {
        for port in 0..if is_per_port { ports } else { 1 } {
            let entry = entries.get(port).copied().unwrap_or(Entry::NOTHING);
            let iretire = match retirement {
                Retirement::Instruction => u32::from(entry.iretire > 0),
                Retirement::Block => entry.iretire,
            };
            match field {
                Field::IType => put(format_args!("{}", entry.itype as u8)),
                Field::Cause => put(format_args!("{}", common.cause)),
                Field::Tval => put(format_args!("{:x}", common.tval)),
                Field::Priv => put(format_args!("{}", common.privilege)),
                Field::IAddr => put(format_args!("{:x}", entry.iaddr)),
                Field::Context => put(format_args!("{}", common.context)),
                Field::CType => put(format_args!("{}", common.ctype as u8)),
                Field::IRetire => put(format_args!("{iretire}")),
                Field::ILastSize => put(format_args!("{}", entry.ilastsize)),
                Field::SiJump => put(format_args!("{}", u8::from(entry.sijump))),
                Field::Time => put(format_args!("{}", common.time)),
                Field::Trigger => put(format_args!("{}", u8::from(entry.notify))),
            }
        }
    }
    out.push(b'\n');
}

/// Returns content and port of the column with this name.
fn column(name: &[u8]) -> Option<(Field, usize)> {
    let name = core::str::from_utf8(name).ok()?;
    FIELDS.iter().find_map(|&(known, field, is_per_port, _)| match is_per_port {
        false => (name == known).then_some((field, 0)),
        true => {
            let port = name.strip_prefix(known)?.strip_prefix('_')?;
            (0..MAX_PORTS).find(|at| at.to_string() == port).map(|port| (field, port))
        }
    })
}

fn number(text: &[u8], radix: u64) -> Option<u64> {
    let mut value = 0u64;
    for &byte in text {
        let digit = (byte as char).to_digit(radix as u32)?;
        value = value.checked_mul(radix)?.checked_add(digit.into())?;
    }
    (!text.is_empty()).then_some(value)
}

/// Returns the beginning of a text for a message.
fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(40)]).into_owned()
}
