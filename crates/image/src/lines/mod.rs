//! Source lines and inlined functions, from DWARF 2 to 5.
//!
//! `index` tells which unit is at an address, when the first question is asked of a file. `rows` (lines) and `functions`
//! of a unit are read when the first question is asked of it. Nothing keeps a reader between questions, so that no
//! answer waits for another.

mod functions;
mod index;
mod ranges;
mod rows;

use std::sync::OnceLock;

use gimli::{EndianSlice, LittleEndian};

use crate::elf::Elf;
use crate::file::File;
use crate::pieces::Pieces;
use crate::symbols::{Frame, SourceLine};
use functions::{At, Functions};
use rows::Rows;

type Reader<'a> = EndianSlice<'a, LittleEndian>;
type Dwarf<'a> = gimli::Dwarf<Reader<'a>>;
type GimliUnit<'a> = gimli::Unit<Reader<'a>>;

/// The most bytes of text kept for a unit: paths, names. Many can be made of few bytes by saying them again and again.
const MAX_TEXT: usize = 16 << 20;

/// The lines of a file. Addresses are those it was linked for.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    units: Vec<Unit>,
    /// Which unit is at an address.
    at: Pieces,
}

/// What one run of a compiler made.
#[derive(Debug)]
struct Unit {
    /// Where in `.debug_info` it is.
    offset: usize,
    rows: OnceLock<Rows>,
    functions: OnceLock<Functions>,
}

impl Lines {
    /// Whether `elf` has lines we can read. Those of a relocatable file would need its relocations.
    pub fn has_any(elf: &Elf) -> bool {
        let has = |name: &str| {
            elf.sections.iter().any(|section| &*section.name == name && section.is_plain() && section.len > 0)
        };
        !elf.relocatable && has(".debug_line") && has(".debug_info")
    }

    /// Finds out where the units of `file` are, whose headers are `elf`.
    pub fn new(elf: &Elf, file: &[u8]) -> Self {
        if !Self::has_any(elf) {
            return Self::default();
        }
        let (offsets, claims) = index::units(&dwarf(elf, file));
        let ranges: Vec<_> = claims.iter().map(|(range, _)| range.clone()).collect();
        let (mut at, _) = Pieces::new(&ranges);
        at.renumber(|claim| claims[claim as usize].1);
        let unit = |offset| Unit { offset, rows: OnceLock::new(), functions: OnceLock::new() };
        Self { units: offsets.into_iter().map(unit).collect(), at }
    }

    /// The line of the instruction at `address`.
    pub fn find<'a>(&'a self, file: &File, address: u64) -> Option<SourceLine<'a>> {
        self.unit(address)?.rows(file).find(address)
    }

    /// The functions at `address`, the innermost first; none if that is not known.
    pub fn frames<'a>(&'a self, file: &File, address: u64) -> Vec<Frame<'a>> {
        let Some(unit) = self.unit(address) else { return Vec::new() };
        let (rows, functions) = (unit.rows(file), unit.functions(file, self));
        let mut frames = Vec::new();
        let mut line = rows.find(address);
        let mut discriminator = rows.discriminator(address);
        for At { names, declared, call } in functions.at(address) {
            let (function, linkage) = names.unzip();
            frames.push(Frame { function, linkage, line, discriminator, declared });
            line = call.and_then(|call| Some(SourceLine { file: rows.file(call.file)?, line: call.line }));
            discriminator = call.map_or(0, |call| call.discriminator);
        }
        frames
    }

    fn unit(&self, address: u64) -> Option<&Unit> {
        let (_, index) = self.at.find(address)?;
        self.units.get(index as usize)
    }

    /// The unit that has this offset in `.debug_info` in it.
    fn unit_with(&self, offset: usize) -> Option<usize> {
        self.units.partition_point(|unit| unit.offset <= offset).checked_sub(1)
    }
}

impl Unit {
    fn rows(&self, file: &File) -> &Rows {
        self.rows.get_or_init(|| match &file.elf {
            Some(elf) => self.read(&dwarf(elf, file.bytes.as_slice()), Rows::new).unwrap_or_default(),
            None => Rows::default(),
        })
    }

    fn functions(&self, file: &File, lines: &Lines) -> &Functions {
        self.functions.get_or_init(|| match &file.elf {
            Some(elf) => {
                let read = |dwarf: &Dwarf<'_>, unit: &GimliUnit<'_>| Functions::new(dwarf, unit, lines);
                self.read(&dwarf(elf, file.bytes.as_slice()), read).unwrap_or_default()
            }
            None => Functions::default(),
        })
    }

    fn read<'a, T>(
        &self,
        dwarf: &Dwarf<'a>,
        what: impl FnOnce(&Dwarf<'a>, &GimliUnit<'a>) -> T,
    ) -> gimli::Result<T> {
        let header = dwarf.unit_header(gimli::DebugInfoOffset(self.offset))?;
        Ok(what(dwarf, &dwarf.unit(header)?))
    }
}

/// A reader of the sections of `file`, whose headers are `elf`.
fn dwarf<'a>(elf: &Elf, file: &'a [u8]) -> Dwarf<'a> {
    let section = |id: gimli::SectionId| {
        let bytes = elf.section_bytes(file, id.name()).unwrap_or_default();
        Ok::<_, gimli::Error>(EndianSlice::new(bytes, LittleEndian))
    };
    Dwarf::load(section).unwrap_or_default()
}
