//! What a file is, before it is put anywhere.

use crate::elf::{Elf, Section};

/// `e_type` of a dump of memory.
const CORE: &[u8] = &[4, 0];

/// What the headers of an ELF file tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts<'a> {
    /// By which it and its debug information know each other.
    pub build_id: Option<&'a [u8]>,
    /// Whether there is code in it: a file that symbols were stripped to has none.
    pub has_code: bool,
    /// Whether it has no table of all its symbols.
    pub is_stripped: bool,
}

impl<'a> Facts<'a> {
    /// Those of `file`; `None` if it is no ELF file that can be read.
    pub fn of(file: &'a [u8]) -> Option<Self> {
        let elf = Elf::names_only(file)?;
        let is_code = |section: &Section| section.executable() && section.is_in_file() && section.len > 0;
        let has_code = elf.segments.iter().any(|segment| segment.executable)
            || elf.relocatable && elf.sections.iter().any(is_code)
            || file.get(16..18) == Some(CORE);
        let build_id = elf.build_id.clone().and_then(|range| file.get(range));
        Some(Self { build_id, has_code, is_stripped: !elf.is_full() })
    }
}
