//! Symbols outside the program's own tables: compressed in the program (`.gnu_debugdata`, an ELF file with
//! nothing but names, the only names in Android's and Fedora's programs), or in a debug file.

use object::elf;

use crate::bytes::Bytes;
use crate::elf::{Elf, Symbol};
use crate::file::File;
use crate::xz::unpacked_xz;

/// Largest unpacked size.
const MOST: usize = 256 << 20;

/// File with the names of another.
#[derive(Debug, Default)]
pub(super) struct Mini {
    bytes: Option<Bytes>,
    elf: Option<Elf>,
}

impl Mini {
    /// Reads the names of a program that has no full symbol table. Damaged data counts as none.
    pub fn new(elf: &Elf, file: &[u8], debug: Option<&File>) -> Self {
        // Symbols of relocatable files are relative to sections, which may be numbered differently there.
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

    /// Returns the symbols. Their names are ranges of [`bytes`](Self::bytes).
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
