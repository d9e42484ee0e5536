//! Source lines and inlined functions from DWARF 2 to 5.
//!
//! `index` finds the unit at an address; it is built on the first query of a file. `rows` (lines) and
//! `functions` of a unit are read on the first query of that unit. No reader is kept between queries, so that
//! queries never wait for one another.

mod files;
mod functions;
mod index;
mod rows;
mod sections;

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use gimli::{EndianSlice, LittleEndian};

use crate::elf::Elf;
use crate::file::File;
use crate::pieces::Pieces;
use crate::symbols::{Frame, SourceLine};
use functions::{At, Functions};
use rows::Rows;
use sections::Sections;

type Reader<'a> = EndianSlice<'a, LittleEndian>;
type Dwarf<'a> = gimli::Dwarf<Reader<'a>>;
type GimliUnit<'a> = gimli::Unit<Reader<'a>>;

/// Most bytes of text kept for a unit: paths and names. A small file can repeat the same text many times.
const MAX_TEXT: usize = 16 << 20;

/// Longest header of a line program that is read, in bytes: some ten thousand files.
const MAX_HEAD: u64 = 1 << 20;

/// Most bytes of lines and functions kept for a file.
const MAX_MEMORY: usize = 1 << 30;

/// Lines of a file. Addresses are as linked.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    sections: Sections,
    units: Vec<Unit>,
    /// Unit at each address.
    at: Pieces,
    /// Memory used by all units, in bytes.
    memory: AtomicUsize,
    /// Number of units whose lines or functions were left out.
    left_out: AtomicUsize,
}

#[derive(Debug)]
struct Unit {
    /// Offset in `.debug_info`.
    offset: usize,
    rows: OnceLock<Rows>,
    functions: OnceLock<Functions>,
}

impl Lines {
    /// Returns whether `elf` has lines, compressed or not. Those of a relocatable file would need its relocations.
    pub fn has_any(elf: &Elf) -> bool {
        !elf.relocatable && [".debug_line", ".debug_info"].iter().all(|name| elf.has_debug_section(name))
    }

    /// Indexes the units of `file`, whose headers are `elf`.
    pub fn new(elf: &Elf, file: &[u8]) -> Self {
        if !Self::has_any(elf) {
            return Self::default();
        }
        let sections = Sections::new(elf, file);
        let (offsets, claims) = index::units(&sections.dwarf(elf, file));
        let ranges: Vec<_> = claims.iter().map(|(range, _)| range.clone()).collect();
        let (mut at, _) = Pieces::new(&ranges);
        at.renumber(|claim| claims[claim as usize].1);
        let unit = |offset| Unit { offset, rows: OnceLock::new(), functions: OnceLock::new() };
        let units = offsets.into_iter().map(unit).collect();
        Self { sections, units, at, ..Self::default() }
    }

    /// Returns the debug section that cannot be unpacked, with the reason, if there is one.
    pub fn fault(&self) -> Option<&str> {
        self.sections.fault.as_deref()
    }

    /// Returns the number of queried units whose lines or functions were left out to save memory.
    pub fn left_out(&self) -> usize {
        self.left_out.load(Ordering::Relaxed)
    }

    /// Keeps `memory` bytes read from a unit, unless the total becomes too large. Counts the unit as left out
    /// if it is not kept as a whole.
    fn keep<T: Default>(&self, read: T, memory: usize, is_whole: bool) -> T {
        let sum = |before: usize| before.checked_add(memory).filter(|&sum| sum <= MAX_MEMORY);
        let fits = self.memory.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum).is_ok();
        if !fits || !is_whole {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        if fits { read } else { T::default() }
    }

    /// Returns the line of the instruction at `address`.
    pub fn find<'a>(&'a self, file: &File, address: u64) -> Option<SourceLine<'a>> {
        self.unit(address)?.rows(file, self).find(address)
    }

    /// Returns the functions at `address`, the innermost first; none if unknown.
    pub fn frames<'a>(&'a self, file: &File, address: u64) -> Vec<Frame<'a>> {
        let Some(unit) = self.unit(address) else { return Vec::new() };
        let (rows, functions) = (unit.rows(file, self), unit.functions(file, self));
        let mut frames = Vec::new();
        let (mut line, mut discriminator) = (rows.find(address), rows.discriminator(address));
        for At { names, declared, call, copy } in functions.at(address) {
            let (function, linkage) = names.unzip();
            frames.push(Frame { function, linkage, line, discriminator, declared, copy });
            line = call
                .and_then(|call| Some(SourceLine { file: functions.files.get(call.file)?, line: call.line }));
            discriminator = call.map_or(0, |call| call.discriminator);
        }
        frames
    }

    /// Returns the addresses around `address` at which [`frames`](Self::frames) returns the same functions.
    pub fn extent(&self, file: &File, address: u64) -> Range<u64> {
        let (range, unit) = self.at.find_or_gap(address);
        let Some(unit) = unit.and_then(|unit| self.units.get(unit as usize)) else { return range };
        let inner = unit.functions(file, self).extent(address);
        range.start.max(inner.start)..range.end.min(inner.end)
    }

    fn unit(&self, address: u64) -> Option<&Unit> {
        let (_, index) = self.at.find(address)?;
        self.units.get(index as usize)
    }

    /// Returns the unit that contains this offset in `.debug_info`.
    fn unit_with(&self, offset: usize) -> Option<usize> {
        self.units.partition_point(|unit| unit.offset <= offset).checked_sub(1)
    }
}

impl Unit {
    fn rows(&self, file: &File, lines: &Lines) -> &Rows {
        self.rows.get_or_init(|| {
            let Some((rows, has_head)) = self.read(file, lines, Rows::new) else { return Rows::default() };
            let (memory, is_whole) = (rows.memory(), has_head && rows.is_whole());
            lines.keep(rows, memory, is_whole)
        })
    }

    fn functions(&self, file: &File, lines: &Lines) -> &Functions {
        self.functions.get_or_init(|| {
            let read = |dwarf: &Dwarf<'_>, unit: &mut GimliUnit<'_>| Functions::new(dwarf, unit, lines);
            let Some((functions, _)) = self.read(file, lines, read) else { return Functions::default() };
            let (memory, is_whole) = (functions.memory, functions.is_whole());
            lines.keep(functions, memory, is_whole)
        })
    }

    /// Reads a part of the unit. Also returns whether its line program was available; it is not if its header
    /// is too long.
    fn read<T>(
        &self,
        file: &File,
        lines: &Lines,
        what: impl for<'a> FnOnce(&Dwarf<'a>, &mut GimliUnit<'a>) -> T,
    ) -> Option<(T, bool)> {
        let dwarf = lines.sections.dwarf(file.elf.as_ref()?, file.bytes.as_slice());
        let header = dwarf.unit_header(gimli::DebugInfoOffset(self.offset)).ok()?;
        let mut unit = index::without_lines(&dwarf, header, dwarf.abbreviations(&header).ok()?)?;
        let has_head = index::read_lines(&dwarf, &mut unit).is_some();
        Some((what(&dwarf, &mut unit), has_head))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_that_is_left_out_takes_no_memory() {
        let lines = Lines::default();
        assert_eq!(lines.keep(1, MAX_MEMORY / 2, true), 1);
        for too_much in [MAX_MEMORY, usize::MAX] {
            assert_eq!(lines.keep(2, too_much, true), 0);
        }
        assert_eq!(lines.keep(3, MAX_MEMORY / 2, true), 3);
        assert_eq!(lines.keep(4, 1, true), 0);
        assert_eq!(lines.left_out(), 3);
    }
}
