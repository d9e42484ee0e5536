//! Source lines and inlined functions, from DWARF.

use crate::elf::Elf;
use crate::file::File;
use crate::symbols::{Frame, SourceLine};

/// The lines of a file.
#[derive(Debug, Default)]
pub(crate) struct Lines {}

impl Lines {
    /// Whether `elf` has lines at all.
    pub fn has_any(elf: &Elf) -> bool {
        !elf.relocatable
            && elf.sections.iter().any(|section| &*section.name == ".debug_line" && section.len > 0)
    }

    /// Indexes the lines of `file`, whose headers are `elf`.
    pub fn new(_elf: &Elf, _file: &[u8]) -> Self {
        Self {}
    }

    /// The line of the instruction at `address`, as linked.
    pub fn find<'a>(&'a self, _file: &'a File, _address: u64) -> Option<SourceLine<'a>> {
        None
    }

    /// The functions at `address`, as linked.
    pub fn frames<'a>(&'a self, _file: &'a File, _address: u64) -> Vec<Frame<'a>> {
        Vec::new()
    }
}
