use std::borrow::Cow;
use std::ops::Range;

use gimli::{FileEntry, IncompleteLineProgram};

use super::{Dwarf, GimliUnit, MAX_TEXT, Reader};
use crate::pieces::Pieces;
use crate::symbols::SourceLine;

/// A path is cut here.
const MAX_PATH: usize = 0x1000;

/// The lines of a unit.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The paths of the source files, by their number in the unit.
    files: Vec<Box<str>>,
    rows: Vec<Row>,
    /// Which of `rows` belong to a sequence: rows of ascending addresses.
    sequences: Vec<Range<usize>>,
    /// Which sequence is at an address.
    at: Pieces,
}

/// From this address on to that of the next row, all is of this line.
#[derive(Debug)]
struct Row {
    address: u64,
    file: u32,
    line: u32,
    discriminator: u32,
}

impl Rows {
    /// Runs the line program of `unit`.
    pub fn new(dwarf: &Dwarf<'_>, unit: &GimliUnit<'_>) -> Self {
        let mut lines = Self::default();
        let Some(program) = unit.line_program.clone() else { return lines };
        lines.files = files(dwarf, unit);
        let mut claims = Vec::new();
        let mut first = 0;
        let mut program = program.rows();
        while let Ok(Some((_, row))) = program.next_row() {
            let rows = &mut lines.rows;
            let address = row.address();
            if row.end_sequence() {
                let sequence = first..rows.len();
                first = rows.len();
                rows[sequence.clone()].sort_by_key(|row| row.address);
                if let Some(start) = rows.get(sequence.start) {
                    claims.push(start.address..address);
                    lines.sequences.push(sequence);
                }
                continue;
            }
            let file = u32::try_from(row.file_index()).unwrap_or(u32::MAX);
            let line = row.line().map_or(0, |line| u32::try_from(line.get()).unwrap_or(0));
            let discriminator = u32::try_from(row.discriminator()).unwrap_or(0);
            rows.push(Row { address, file, line, discriminator });
        }
        (lines.at, _) = Pieces::new(&claims);
        lines
    }

    /// The line of the instruction at `address`.
    pub fn find(&self, address: u64) -> Option<SourceLine<'_>> {
        let row = self.row(address)?;
        Some(SourceLine { file: self.file(row.file)?, line: row.line })
    }

    /// Which of the parts of that line the instruction at `address` is of, as compilers count them.
    pub fn discriminator(&self, address: u64) -> u32 {
        self.row(address).map_or(0, |row| row.discriminator)
    }

    fn row(&self, address: u64) -> Option<&Row> {
        let (_, sequence) = self.at.find(address)?;
        let rows = &self.rows[self.sequences[sequence as usize].clone()];
        // Of several rows at one address the last is meant.
        rows.get(rows.partition_point(|row| row.address <= address).checked_sub(1)?)
    }

    /// The path of a source file.
    pub fn file(&self, number: u32) -> Option<&str> {
        self.files.get(number as usize).map(|path| &**path).filter(|path| !path.is_empty())
    }

    /// The addresses for which there are lines.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.at.iter().map(|(range, _)| range)
    }
}

/// The paths of the source files of a unit by their number; empty where there is none.
fn files(dwarf: &Dwarf<'_>, unit: &GimliUnit<'_>) -> Vec<Box<str>> {
    let Some(header) = unit.line_program.as_ref().map(IncompleteLineProgram::header) else {
        return Vec::new();
    };
    // Numbers begin at 1 before DWARF 5.
    let unused = usize::from(header.version() < 5);
    let mut left = MAX_TEXT;
    let paths = header.file_names().iter().map(|file| {
        let path = path(dwarf, unit, file).filter(|path| path.len() <= left).unwrap_or_default();
        left -= path.len();
        path
    });
    std::iter::repeat_n(Box::default(), unused).chain(paths).collect()
}

fn path(dwarf: &Dwarf<'_>, unit: &GimliUnit<'_>, file: &FileEntry<Reader<'_>>) -> Option<Box<str>> {
    let header = unit.line_program.as_ref()?.header();
    let mut path = String::new();
    if let Some(directory) = &unit.comp_dir {
        push(&mut path, &text(directory));
    }
    // Directory 0 is that of the unit.
    if file.directory_index() != 0
        && let Some(directory) = file.directory(header)
    {
        push(&mut path, &text(&dwarf.attr_string(unit, directory).ok()?));
    }
    push(&mut path, &text(&dwarf.attr_string(unit, file.path_name()).ok()?));
    Some(path.into())
}

fn text<'a>(text: &Reader<'a>) -> Cow<'a, str> {
    let text = text.slice();
    String::from_utf8_lossy(&text[..text.len().min(MAX_PATH)])
}

/// Goes from `path` on to `next`, which may be absolute, as paths of Unix and of Windows can be.
fn push(path: &mut String, next: &str) {
    let bytes = next.as_bytes();
    let is_windows = |bytes: &[u8]| {
        bytes.get(1) == Some(&b':') && bytes.get(2) == Some(&b'\\') || bytes.starts_with(b"\\")
    };
    if bytes.starts_with(b"/") || is_windows(bytes) {
        path.clear();
    } else if !path.is_empty() && !path.ends_with(['/', '\\']) {
        path.push(if is_windows(path.as_bytes()) { '\\' } else { '/' });
    }
    path.push_str(next);
}
