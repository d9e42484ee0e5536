//! ELF files: what is loaded where, which sections, symbols and relocations they have.

mod note;
mod patch;
mod place;
mod read;
mod relocatable;
mod relocate;
mod tables;

use std::ops::Range;

use object::elf;

pub use place::Place;
pub(crate) use read::{Section, Segment};
pub(crate) use tables::{Relocation, Symbol};

use crate::error::Reason;
use crate::pieces::Pieces;

/// An ELF file, its headers read. Addresses are those it was linked for unless said otherwise.
#[derive(Debug)]
pub(crate) struct Elf {
    /// 64-bit.
    pub wide: bool,
    pub machine: elf::Machine,
    /// Sections are at no address yet, symbols count from the start of their section.
    pub relocatable: bool,
    /// What is loaded and has bytes in the file.
    pub segments: Vec<Segment>,
    pub sections: Vec<Section>,
    /// What says more about the file than is needed to run it.
    notes: Vec<read::Note>,
    /// Which section is loaded at an address.
    pub sections_at: Pieces,
    /// Where in the file the build ID is.
    pub build_id: Option<Range<usize>>,
    /// Addresses of code that a loader changes in a way that the file does not tell, sorted.
    pub unrelocated: Vec<u64>,
}

impl Elf {
    /// Reads the headers of `file`. Of a relocatable file, also returns a copy of it in which branches lead where they lead once
    /// it is loaded, if it has any that need that.
    pub fn new(file: &[u8]) -> Result<(Self, Option<Vec<u8>>), Reason> {
        let mut elf = read::headers(file)?;
        let mut relocated = None;
        if elf.relocatable {
            relocatable::lay_out(&mut elf);
            relocated = relocate::relocate(&mut elf, file)?;
        }
        if elf.segments.is_empty() {
            return Err(Reason::NothingToLoad);
        }
        let claim = |section: &Section| if section.loaded { section.addresses() } else { 0..0 };
        let claims: Vec<_> = elf.sections.iter().map(claim).collect();
        (elf.sections_at, _) = Pieces::new(&claims);
        elf.build_id = note::build_id(&elf, file);
        Ok((elf, relocated))
    }

    /// The headers of a file of which nothing has to be loaded: it may have names, and nothing else.
    pub fn names_only(file: &[u8]) -> Option<Self> {
        let mut elf = read::headers(file).ok()?;
        elf.build_id = note::build_id(&elf, file);
        Some(elf)
    }

    /// Whether it has all its symbols, not only those that other files see.
    pub fn is_full(&self) -> bool {
        self.sections.iter().any(|section| section.kind == elf::SHT_SYMTAB)
    }

    /// The section that is loaded at `address`, as linked.
    pub fn section_at(&self, address: u64) -> Option<&Section> {
        self.sections_at.find(address).map(|(_, index)| &self.sections[index as usize])
    }

    /// The bytes of the section called `name`, if it has any in the file and they are not compressed.
    pub fn section_bytes<'a>(&self, file: &'a [u8], name: &str) -> Option<&'a [u8]> {
        let section = self.sections.iter().find(|section| &*section.name == name && section.is_plain())?;
        section.bytes(file)
    }
}
