//! Facts about a file before it is loaded.

use crate::elf::{Elf, Section};

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
        Some(Self { build_id, has_code, is_stripped: !elf.is_full() })
    }
}
