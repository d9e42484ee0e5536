use std::collections::BTreeSet;
use std::ops::Range;

use super::files::Files;
use super::{Dwarf, GimliUnit};
use crate::pieces::Pieces;
use crate::symbols::SourceLine;

/// Most rows read for a unit; the largest units of real programs have a tenth of that.
const MAX_ROWS: usize = 1 << 23;

#[derive(Debug, Default)]
pub(super) struct Rows {
    files: Files,
    rows: Vec<Row>,
    /// Start address and rows of each sequence; rows have ascending addresses.
    sequences: Vec<(u64, Range<usize>)>,
    /// Sequence at each address.
    at: Pieces,
    /// Whether there are more rows than are read.
    is_short: bool,
}

/// Line of all instructions from here to the next row.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Offset from the start of its sequence.
    offset: u32,
    file: u32,
    line: u32,
    discriminator: u32,
}

impl Rows {
    /// Runs the line program of `unit`.
    pub fn new<'a>(dwarf: &Dwarf<'a>, unit: &mut GimliUnit<'a>) -> Self {
        let mut lines = Self::default();
        // It is no longer needed, and a copy may be large.
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

    /// Moves the rows of a sequence into the table. Returns the address of the first, if there are any.
    fn add(&mut self, sequence: &mut Vec<(u64, Row)>) -> Option<u64> {
        sequence.sort_by_key(|(address, _)| *address);
        let &(start, _) = sequence.first()?;
        let first = self.rows.len();
        for (address, row) in sequence.drain(..) {
            let Ok(offset) = u32::try_from(address - start) else { break };
            let row = Row { offset, ..row };
            let of = |row: &Row| (row.file, row.line, row.discriminator);
            match self.rows[first..].last_mut() {
                // Of several rows at one address the last one counts.
                Some(last) if last.offset == offset => *last = row,
                Some(last) if of(last) == of(&row) => {}
                _ => self.rows.push(row),
            }
        }
        self.sequences.push((start, first..self.rows.len()));
        Some(start)
    }

    /// Returns the line of the instruction at `address`.
    pub fn find(&self, address: u64) -> Option<SourceLine<'_>> {
        let row = self.row(address)?;
        Some(SourceLine { file: self.files.get(row.file)?, line: row.line })
    }

    /// Returns the discriminator of the instruction at `address` within its line.
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

    /// Returns the addresses that have lines.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.at.iter().map(|(range, _)| range)
    }

    /// Returns whether all rows and files were read.
    pub fn is_whole(&self) -> bool {
        !self.is_short && !self.files.is_short
    }

    /// Returns the memory used, in bytes.
    pub fn memory(&self) -> usize {
        let rows = self.rows.capacity() * size_of::<Row>();
        // Each sequence is in the index, too.
        let sequences = self.sequences.capacity() * 2 * size_of::<(u64, Range<usize>)>();
        rows + sequences + self.files.memory()
    }
}
