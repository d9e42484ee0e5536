//! Tables as comma-separated values, for spreadsheets and scripts: quoted as RFC 4180 says, a line each, the names of the columns first.
//! Lines end as they do in all our text, without a carriage return; what is not known is empty.
//!
//! Text comes from files that anybody may have written. What must not be printed is escaped, and text that a spreadsheet would take for
//! a formula (it begins with `=`, `@`, `+` or `-`) gets an apostrophe before it, which spreadsheets do not show.
//!
//! [`Csv`] makes a table row by row, and [`Objects`] makes one of JSON objects. The modules have the tables of each analysis.

pub mod annotate;
pub mod call_tree;
pub mod channel_text;
pub mod coverage;
pub mod diff;
pub mod exceptions;
pub mod packets;
pub mod profile;
pub mod stalls;

use std::borrow::Cow;
use std::fmt::Write;
use std::io;

use serde_json::Value;
use tracewright_core::text::Printable;

/// A table with `N` columns.
#[derive(Debug)]
pub struct Csv<const N: usize>(String);

impl<const N: usize> Csv<N> {
    /// Creates a table whose first line is `header`, the names of the columns with a comma between two.
    pub fn new(header: &str) -> Self {
        debug_assert_eq!(header.split(',').count(), N, "{header}");
        Self(format!("{header}\n"))
    }

    /// Adds a row.
    pub fn row(&mut self, cells: [Cell<'_>; N]) {
        self.cells(cells);
    }

    fn cells<'t>(&mut self, cells: impl IntoIterator<Item = Cell<'t>>) {
        for (number, cell) in cells.into_iter().enumerate() {
            if number > 0 {
                self.0.push(',');
            }
            match cell {
                Cell::Nothing => {}
                Cell::Number(number) => {
                    let _ = write!(self.0, "{number}");
                }
                Cell::Fraction(number) => {
                    let _ = write!(self.0, "{number}");
                }
                Cell::Text(text) => self.text(&text),
            }
        }
        self.0.push('\n');
    }

    fn text(&mut self, text: &str) {
        let guard = if text.starts_with(['=', '@', '+', '-']) { "'" } else { "" };
        let text = format!("{guard}{}", Printable(text));
        let _ = match text.contains([',', '"']) {
            true => write!(self.0, "\"{}\"", text.replace('"', "\"\"")),
            false => self.0.write_str(&text),
        };
    }

    /// Returns the lines added since the last call.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.0)
    }

    /// Returns all lines.
    pub fn finish(self) -> String {
        self.0
    }
}

/// Writes JSON objects, a line each: as they are, or as rows of a table.
#[derive(Debug)]
pub struct Objects<W> {
    out: W,
    columns: Option<Vec<&'static str>>,
    /// The start of a line that is not yet complete.
    line: Vec<u8>,
}

impl<W: io::Write> Objects<W> {
    /// Creates a writer that makes rows of objects if it gets a `header`: the fields that are columns, with a comma between two. All
    /// other fields are in the last column, as `name=value`, if that is `more`.
    pub fn new(out: W, header: Option<&'static str>) -> Self {
        Self { out, columns: header.map(|header| header.split(',').collect()), line: Vec::new() }
    }
}

/// Returns an object as a row of a table.
fn row(columns: &[&str], object: &Value) -> String {
    let is_more = |name: &String| !columns.contains(&name.as_str());
    let words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let more = object.as_object().into_iter().flatten().filter(|(name, _)| is_more(name));
    let more: Vec<_> = more.map(|(name, value)| format!("{name}={}", words(value))).collect();
    let cell = |name: &&str| match object.get(*name) {
        None if *name == "more" && !more.is_empty() => more.join("; ").into(),
        None | Some(Value::Null) => Cell::Nothing,
        Some(Value::Bool(is_so)) => (*is_so).into(),
        Some(Value::Number(number)) => number.as_u64().map_or(Cell::Nothing, Cell::Number),
        Some(value) => words(value).into(),
    };
    let mut csv = Csv::<0>(String::new());
    csv.cells(columns.iter().map(cell));
    csv.finish()
}

impl<W: io::Write> io::Write for Objects<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(columns) = &self.columns else { return self.out.write(bytes) };
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                // What is no object are the names of the columns.
                match serde_json::from_slice(&self.line) {
                    Ok(object) => self.out.write_all(row(columns, &object).as_bytes())?,
                    Err(_) => self.out.write_all(&self.line)?,
                }
                self.line.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A value of a row.
#[derive(Clone, Debug)]
pub enum Cell<'t> {
    /// A value that is not known.
    Nothing,
    /// A whole number.
    Number(u64),
    /// A number with a fraction.
    Fraction(f64),
    /// A text, which is escaped when it is written.
    Text(Cow<'t, str>),
}

impl Cell<'static> {
    /// Returns an address, in hexadecimal.
    pub fn address(address: u64) -> Self {
        format!("{address:#x}").into()
    }
}

impl<'t> From<&'t str> for Cell<'t> {
    fn from(text: &'t str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Cell<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        Self::Fraction(number)
    }
}

impl From<bool> for Cell<'_> {
    fn from(is_so: bool) -> Self {
        if is_so { "true" } else { "false" }.into()
    }
}

impl<'t, T: Into<Cell<'t>>> From<Option<T>> for Cell<'t> {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Self::Nothing, T::into)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn objects_are_rows() {
        let mut bytes = Vec::new();
        let mut objects = Objects::new(&mut bytes, Some("kind,offset,more"));
        for piece in
            ["kind,offset,more\n{\"kind\":\"a,b\",\"off", "set\":7,\"x\":[1],\"y\":\"z\"}\n{\"kind\":null}\n"]
        {
            objects.write_all(piece.as_bytes()).unwrap();
        }
        assert_eq!(String::from_utf8(bytes).unwrap(), "kind,offset,more\n\"a,b\",7,x=[1]; y=z\n,,\n");
    }

    #[test]
    fn what_would_be_taken_for_something_else_is_quoted() {
        let mut csv = Csv::new("name,count");
        csv.row(["std::map<int, char>::at".into(), 3_u64.into()]);
        csv.row(["operator\"\"_s".into(), None::<u64>.into()]);
        csv.row(["two\nlines".into(), true.into()]);
        csv.row(["=cmd(),\t".into(), (-1.5).into()]);
        csv.row(["@sum".into(), 0_u64.into()]);
        csv.row(["-[NSView draw]".into(), 0_u64.into()]);
        let expected = "name,count\n\"std::map<int, char>::at\",3\n\"operator\"\"\"\"_s\",\ntwo\\x0alines,true\n\
            \"'=cmd(),\\x09\",-1.5\n'@sum,0\n'-[NSView draw],0\n";
        assert_eq!(csv.finish(), expected);
    }
}
