//! Symbols that are not in the program's own tables: compressed in it (`.gnu_debugdata`: an ELF file with nothing but names, and all
//! that Android's programs and Fedora's have), or in the file that they were stripped to.

use object::elf;

use crate::bytes::Bytes;
use crate::elf::{Elf, Symbol};
use crate::file::File;
use crate::xz::unpacked_xz;

/// No program has more names.
const MOST: usize = 256 << 20;

/// The file with the names of another.
#[derive(Debug, Default)]
pub(super) struct Mini {
    bytes: Option<Bytes>,
    elf: Option<Elf>,
}

impl Mini {
    /// That of a program that has no full table of symbols. What is damaged is as good as none.
    pub fn new(elf: &Elf, file: &[u8], debug: Option<&File>) -> Self {
        // Symbols of relocatable files are counted from sections, which may have other numbers there.
        if elf.is_full() || elf.relocatable {
            return Self::default();
        }
        let bytes = match debug {
            Some(debug) => Some(debug.bytes.clone()),
            None => elf
                .section_bytes(file, ".gnu_debugdata")
                .and_then(|packed| Some(unpacked_xz(packed, MOST).ok()?.into())),
        };
        Self { elf: bytes.as_ref().and_then(|bytes| Elf::names_only(bytes.as_slice())), bytes }
    }

    /// Its symbols. Where their names are is counted in [`bytes`](Self::bytes).
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'_>> {
        let tables = self.elf.iter().flat_map(|elf| {
            let table = elf.sections.iter().find(|section| section.kind == elf::SHT_SYMTAB);
            table.map(|section| elf.symbols(section, self.bytes()))
        });
        tables.flatten()
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref().map_or(&[], Bytes::as_slice)
    }
}
