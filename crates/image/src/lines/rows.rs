use std::collections::BTreeSet;
use std::ops::Range;

use super::files::Files;
use super::{Dwarf, GimliUnit};
use crate::pieces::Pieces;
use crate::symbols::SourceLine;

/// More rows of a unit are not read: the largest units of real programs have a tenth of them.
const MAX_ROWS: usize = 1 << 23;

/// The lines of a unit.
#[derive(Debug, Default)]
pub(super) struct Rows {
    files: Files,
    rows: Vec<Row>,
    /// Rows of ascending addresses: where the first is, and which they are.
    sequences: Vec<(u64, Range<usize>)>,
    /// Which sequence is at an address.
    at: Pieces,
    /// Whether there are more rows than are read.
    is_short: bool,
}

/// From here on to the next row, all is of this line.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// How far behind the start of its sequence it is.
    offset: u32,
    file: u32,
    line: u32,
    discriminator: u32,
}

impl Rows {
    /// Runs the line program of `unit`.
    pub fn new<'a>(dwarf: &Dwarf<'a>, unit: &mut GimliUnit<'a>) -> Self {
        let mut lines = Self::default();
        // It is not needed any more, and a copy may be large.
        let Some(program) = unit.line_program.take() else { return lines };
        let mut claims = Vec::new();
        let mut sequence = Vec::new();
        let mut program = program.rows();
        while let Ok(Some((_, row))) = program.next_row() {
            let address = row.address();
            if row.end_sequence() {
                if let Some(start) = lines.add(&mut sequence) {
                    claims.push(start..address);
                }
                continue;
            }
            if lines.rows.len() + sequence.len() >= MAX_ROWS {
                return Self { is_short: true, ..Self::default() };
            }
            let file = u32::try_from(row.file_index()).unwrap_or(u32::MAX);
            let line = row.line().map_or(0, |line| u32::try_from(line.get()).unwrap_or(0));
            let discriminator = u32::try_from(row.discriminator()).unwrap_or(0);
            sequence.push((address, Row { offset: 0, file, line, discriminator }));
        }
        lines.rows.shrink_to_fit();
        (lines.at, _) = Pieces::new(&claims);
        let numbers: BTreeSet<_> = lines.rows.iter().map(|row| row.file).collect();
        lines.files = Files::new(dwarf, unit, program.header(), &numbers);
        lines
    }

    /// Adds the rows of a sequence, and takes them. Returns where the first is, if there are any.
    fn add(&mut self, sequence: &mut Vec<(u64, Row)>) -> Option<u64> {
        sequence.sort_by_key(|(address, _)| *address);
        let &(start, _) = sequence.first()?;
        let first = self.rows.len();
        for (address, row) in sequence.drain(..) {
            let Ok(offset) = u32::try_from(address - start) else { break };
            let row = Row { offset, ..row };
            let of = |row: &Row| (row.file, row.line, row.discriminator);
            match self.rows[first..].last_mut() {
                // Of several rows at one address the last is meant.
                Some(last) if last.offset == offset => *last = row,
                Some(last) if of(last) == of(&row) => {}
                _ => self.rows.push(row),
            }
        }
        self.sequences.push((start, first..self.rows.len()));
        Some(start)
    }

    /// The line of the instruction at `address`.
    pub fn find(&self, address: u64) -> Option<SourceLine<'_>> {
        let row = self.row(address)?;
        Some(SourceLine { file: self.files.get(row.file)?, line: row.line })
    }

    /// Which of the parts of that line the instruction at `address` is of, as compilers count them.
    pub fn discriminator(&self, address: u64) -> u32 {
        self.row(address).map_or(0, |row| row.discriminator)
    }

    fn row(&self, address: u64) -> Option<&Row> {
        let (_, sequence) = self.at.find(address)?;
        let (start, rows) = &self.sequences[sequence as usize];
        let rows = &self.rows[rows.clone()];
        let offset = address.wrapping_sub(*start);
        rows.get(rows.partition_point(|row| u64::from(row.offset) <= offset).checked_sub(1)?)
    }

    /// The addresses for which there are lines.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.at.iter().map(|(range, _)| range)
    }

    /// Whether all rows and files were read.
    pub fn is_whole(&self) -> bool {
        !self.is_short && !self.files.is_short
    }

    /// Bytes it takes.
    pub fn memory(&self) -> usize {
        let rows = self.rows.capacity() * size_of::<Row>();
        // A sequence is in the index, too.
        let sequences = self.sequences.capacity() * 2 * size_of::<(u64, Range<usize>)>();
        rows + sequences + self.files.memory()
    }
}
