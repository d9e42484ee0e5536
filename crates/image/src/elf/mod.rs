//! ELF files: segments, sections, symbols and relocations.

mod compressed;
mod patch;
mod place;
mod read;
mod relocate;
mod tables;
mod zcm;

use std::borrow::Cow;
use std::ops::Range;

use object::elf;

pub(crate) use compressed::Fault;
pub use place::Place;
pub(crate) use read::{Section, Segment};
pub(crate) use tables::{Relocation, Symbol};

use crate::error::Reason;
use crate::lines::Lines;
use crate::pieces::Pieces;

/// Headers of an ELF file. Addresses are as linked unless stated otherwise.
#[derive(Debug)]
pub(crate) struct Elf {
    /// Whether the file is 64-bit.
    pub wide: bool,
    pub machine: elf::Machine,
    /// Address where execution begins; 0 if there is none.
    pub entry: u64,
    /// Whether the file is relocatable: sections have no addresses yet, and symbols are relative to their
    /// section.
    pub relocatable: bool,
    /// Segments that are loaded and have bytes in the file.
    pub segments: Vec<Segment>,
    pub sections: Vec<Section>,
    /// Segments with notes.
    notes: Vec<read::Note>,
    /// Section loaded at each address.
    pub sections_at: Pieces,
    /// Place of the build ID in the file.
    pub build_id: Option<Range<usize>>,
    /// Sorted addresses of code that a loader changes in a way the file does not give.
    pub unrelocated: Vec<u64>,
    /// Set if the program has instructions of Zcmp or Zcmt.
    pub zcm: Option<zcm::Zcm>,
}

impl Elf {
    /// Reads the headers of `file`. For a relocatable file with branches that need relocation, also returns a
    /// copy in which they lead to their final targets.
    pub fn new(file: &[u8]) -> Result<(Self, Option<Vec<u8>>), Reason> {
        let mut elf = read::headers(file)?;
        let mut relocated = None;
        if elf.relocatable {
            relocate::lay_out(&mut elf);
            relocated = relocate::relocate(&mut elf, file)?;
        }
        if elf.segments.is_empty() {
            return Err(Reason::NothingToLoad);
        }
        let claim = |section: &Section| if section.loaded { section.addresses() } else { 0..0 };
        let claims: Vec<_> = elf.sections.iter().map(claim).collect();
        (elf.sections_at, _) = Pieces::new(&claims);
        elf.build_id = read::build_id(&elf, file);
        elf.zcm = elf.find_zcm(file);
        Ok((elf, relocated))
    }

    /// Reads the headers of a file that needs nothing to load and may have only names.
    pub fn names_only(file: &[u8]) -> Option<Self> {
        let mut elf = read::headers(file).ok()?;
        elf.build_id = read::build_id(&elf, file);
        Some(elf)
    }

    /// Returns whether the file has all its symbols, not only those visible to other files.
    pub fn is_full(&self) -> bool {
        self.sections.iter().any(|section| section.kind == elf::SHT_SYMTAB)
    }

    /// Returns the section that is loaded at `address`, as linked.
    pub fn section_at(&self, address: u64) -> Option<&Section> {
        self.sections_at.find(address).map(|(_, index)| &self.sections[index as usize])
    }

    /// Returns whether there is a debug section called `name`, compressed or not.
    pub fn has_debug_section(&self, name: &str) -> bool {
        compressed::section(self, name).is_some()
    }

    /// Returns the bytes of the debug section called `name`, unpacked; none if there is no such section.
    ///
    /// # Errors
    /// Fails if the section cannot be unpacked.
    pub fn debug_section<'a>(&self, file: &'a [u8], name: &str) -> Result<Cow<'a, [u8]>, Fault> {
        compressed::unpacked(self, file, name)
    }

    /// Returns the bytes of the section called `name`, if it has any in the file and they are not compressed.
    pub fn section_bytes<'a>(&self, file: &'a [u8], name: &str) -> Option<&'a [u8]> {
        let section = self.sections.iter().find(|section| &*section.name == name && section.is_plain())?;
        section.bytes(file)
    }
}

/// `e_type` of a core dump.
const CORE: &[u8] = &[4, 0];

/// Facts from the headers of an ELF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts<'a> {
    /// Build ID, which a file shares with its debug file.
    pub build_id: Option<&'a [u8]>,
    /// Whether the file contains code; a debug file does not.
    pub has_code: bool,
    /// Whether the full symbol table is missing.
    pub is_stripped: bool,
    /// Whether the file has source lines.
    pub has_lines: bool,
    /// Name and CRC-32 of its debug file (`.gnu_debuglink`).
    pub debug_link: Option<(&'a [u8], u32)>,
}

impl<'a> Facts<'a> {
    /// Reads the headers of `file`. Returns `None` if it is not a readable ELF file.
    pub fn of(file: &'a [u8]) -> Option<Self> {
        let elf = Elf::names_only(file)?;
        let is_code = |section: &Section| section.executable() && section.is_in_file() && section.len > 0;
        let has_code = elf.segments.iter().any(|segment| segment.executable)
            || elf.relocatable && elf.sections.iter().any(is_code)
            || file.get(16..18) == Some(CORE);
        let build_id = elf.build_id.clone().and_then(|range| file.get(range));
        let has_lines = Lines::has_any(&elf);
        let debug_link = elf.section_bytes(file, ".gnu_debuglink").and_then(debug_link);
        Some(Self { build_id, has_code, is_stripped: !elf.is_full(), has_lines, debug_link })
    }
}

/// Reads the name and the checksum of a debug file.
fn debug_link(section: &[u8]) -> Option<(&[u8], u32)> {
    let len = section.iter().position(|&byte| byte == 0)?;
    let checksum = section.get((len + 1).next_multiple_of(4)..)?.first_chunk()?;
    Some((&section[..len], u32::from_le_bytes(*checksum)))
}
