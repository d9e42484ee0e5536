//! Tables of symbols and relocations, of either class.

use object::LittleEndian as Le;
use object::elf::{self, FileHeader32, FileHeader64};
use object::pod;
use object::read::elf::{FileHeader, Rel, Rela, Sym};

use super::read::string_at;
use super::{Elf, Section};

/// Length at which symbol names are cut.
const MAX_NAME: usize = 0x4000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol<'a> {
    pub name: &'a [u8],
    /// Offset of the name in the file.
    pub name_at: usize,
    /// Address, or offset within its section in a relocatable file.
    pub value: u64,
    pub size: u64,
    pub kind: elf::SymbolType,
    pub bind: elf::SymbolBind,
    pub section: elf::SymbolSection,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    pub offset: u64,
    pub symbol: u32,
    /// Addend; zero if it is stored where the relocation applies.
    pub addend: u64,
    pub kind: elf::RelocationType,
}

impl Elf {
    /// Returns the symbols of `section`; none if it is not a symbol table.
    pub fn symbols<'a>(
        &'a self,
        section: &Section,
        file: &'a [u8],
    ) -> Box<dyn Iterator<Item = Symbol<'a>> + 'a> {
        if ![elf::SHT_SYMTAB, elf::SHT_DYNSYM].contains(&section.kind) {
            return Box::new(std::iter::empty());
        }
        let bytes = section.bytes(file).unwrap_or_default();
        let strings = self.sections.get(section.link as usize);
        let strings_at = strings.map_or(0, |section| section.offset as usize);
        let strings = strings.and_then(|section| section.bytes(file)).unwrap_or_default();
        if self.wide {
            symbols::<FileHeader64<Le>>(bytes, strings, strings_at)
        } else {
            symbols::<FileHeader32<Le>>(bytes, strings, strings_at)
        }
    }

    /// Returns the relocations of `section`; none if it is not a relocation table.
    pub fn relocations<'a>(
        &self,
        section: &Section,
        file: &'a [u8],
    ) -> Box<dyn Iterator<Item = Relocation> + 'a> {
        let bytes = section.bytes(file).unwrap_or_default();
        match (section.kind, self.wide) {
            (elf::SHT_RELA, true) => rela::<FileHeader64<Le>>(bytes),
            (elf::SHT_RELA, false) => rela::<FileHeader32<Le>>(bytes),
            (elf::SHT_REL, true) => rel::<FileHeader64<Le>>(bytes),
            (elf::SHT_REL, false) => rel::<FileHeader32<Le>>(bytes),
            _ => Box::new(std::iter::empty()),
        }
    }
}

fn entries<T: pod::Pod>(bytes: &[u8]) -> &[T] {
    pod::slice_from_bytes(bytes, bytes.len() / size_of::<T>()).map_or(&[], |(entries, _)| entries)
}

fn symbols<'a, H: FileHeader<Endian = Le>>(
    bytes: &'a [u8],
    strings: &'a [u8],
    strings_at: usize,
) -> Box<dyn Iterator<Item = Symbol<'a>> + 'a> {
    Box::new(entries::<H::Sym>(bytes).iter().map(move |symbol| Symbol {
        name: string_at(strings, symbol.st_name(Le), MAX_NAME),
        name_at: strings_at.saturating_add(symbol.st_name(Le) as usize),
        value: symbol.st_value(Le).into(),
        size: symbol.st_size(Le).into(),
        kind: symbol.st_type(),
        bind: symbol.st_bind(),
        section: symbol.st_shndx(Le),
    }))
}

fn rela<'a, H: FileHeader<Endian = Le>>(bytes: &'a [u8]) -> Box<dyn Iterator<Item = Relocation> + 'a> {
    Box::new(entries::<H::Rela>(bytes).iter().map(|entry| Relocation {
        offset: entry.r_offset(Le).into(),
        symbol: entry.r_sym(Le, false),
        addend: entry.r_addend(Le).into().cast_unsigned(),
        kind: entry.r_type(Le, false),
    }))
}

fn rel<'a, H: FileHeader<Endian = Le>>(bytes: &'a [u8]) -> Box<dyn Iterator<Item = Relocation> + 'a> {
    Box::new(entries::<H::Rel>(bytes).iter().map(|entry| Relocation {
        offset: entry.r_offset(Le).into(),
        symbol: entry.r_sym(Le),
        addend: 0,
        kind: entry.r_type(Le),
    }))
}
