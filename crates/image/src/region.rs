use std::ops::Range;

use object::elf;
use tracewright_core::MemorySpace;

use crate::file::File;
use crate::lines::Lines;

/// Bytes of a file at addresses.
#[derive(Debug)]
pub(crate) struct Region {
    /// Index of the file.
    pub file: u32,
    /// Where in the file the bytes are.
    pub offset: usize,
    pub range: Range<u64>,
    pub space: MemorySpace,
    pub executable: bool,
    /// What to add to the addresses its ELF file was linked for; `None` if that is not known.
    pub bias: Option<u64>,
}

impl Region {
    /// The bytes at `range`, a part of the region.
    #[inline]
    pub fn bytes<'a>(&self, file: &'a File, range: &Range<u64>) -> Option<&'a [u8]> {
        // What is absent may be anywhere.
        let start = self.offset.checked_add((range.start - self.range.start) as usize)?;
        file.bytes.as_slice().get(start..start.checked_add((range.end - range.start) as usize)?)
    }
}

/// What a region was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of which nothing is known but where they are.
    Raw,
    /// A part of an ELF file that is loaded.
    Elf,
}

/// A region of an image, to ask about.
#[derive(Clone, Copy, Debug)]
pub struct RegionRef<'a> {
    pub(crate) file: &'a File,
    pub(crate) region: &'a Region,
}

/// A section of an ELF file, where it is in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionRef<'a> {
    /// Its name, such as `.text`.
    pub name: &'a str,
    /// Its addresses.
    pub range: Range<u64>,
    /// Whether it has code.
    pub executable: bool,
}

impl<'a> RegionRef<'a> {
    /// The name it was given: of the file, most likely.
    pub fn name(&self) -> &'a str {
        &self.file.name
    }

    /// The file that was mapped there, and what is at the region's start in it, if the region is that
    /// ([`Builder::map`](crate::Builder::map)) or a dump of it ([`Builder::raw_mapped`](crate::Builder::raw_mapped)).
    pub fn mapped(&self) -> Option<(&'a str, u64)> {
        let Self { file, region } = self;
        let whole = file.in_parts.then_some((&*file.name, region.offset as u64));
        whole.or_else(|| file.mapped.as_ref().map(|(file, offset)| (&**file, *offset)))
    }

    /// What it was made from.
    pub fn kind(&self) -> Kind {
        if self.file.elf.is_some() { Kind::Elf } else { Kind::Raw }
    }

    /// Its addresses, also those that another region hides.
    pub fn range(&self) -> Range<u64> {
        self.region.range.clone()
    }

    /// The memory spaces it is in.
    pub fn space(&self) -> MemorySpace {
        self.region.space
    }

    /// The offset in its file of what is at `address`, which is in it.
    pub fn file_offset(&self, address: u64) -> u64 {
        (self.region.offset as u64).wrapping_add(address.wrapping_sub(self.region.range.start))
    }

    /// The address that its ELF file was linked to have at `address`, which is in it.
    pub fn linked(&self, address: u64) -> Option<u64> {
        self.file.elf.as_ref()?;
        self.region.bias.map(|bias| address.wrapping_sub(bias))
    }

    /// Whether it may be code: an executable part of an ELF file, or anything raw.
    pub fn executable(&self) -> bool {
        self.region.executable
    }

    /// The build ID of its ELF file.
    pub fn build_id(&self) -> Option<&'a [u8]> {
        self.file.build_id()
    }

    /// Whether its ELF file has tables of symbols.
    pub fn has_symbols(&self) -> bool {
        let tables = [elf::SHT_SYMTAB, elf::SHT_DYNSYM];
        self.file.elf.as_ref().is_some_and(|elf| {
            elf.sections.iter().any(|section| tables.contains(&section.kind) && section.len > 0)
        })
    }

    /// Whether its ELF file tells source lines.
    pub fn has_lines(&self) -> bool {
        self.file.elf.as_ref().is_some_and(Lines::has_any)
    }

    /// The section of its ELF file called `name`, if it is loaded.
    pub fn section_named(&self, name: &str) -> Option<SectionRef<'a>> {
        let (elf, bias) = (self.file.elf.as_ref()?, self.region.bias?);
        let section = elf.sections.iter().find(|section| section.loaded && &*section.name == name)?;
        let start = section.address.wrapping_add(bias);
        let range = start..start.saturating_add(section.len);
        Some(SectionRef { name: &section.name, range, executable: section.executable() })
    }

    /// The section at `address`; its end is where code should not run past.
    pub fn section(&self, address: u64) -> Option<SectionRef<'a>> {
        let elf = self.file.elf.as_ref()?;
        let linked = address.wrapping_sub(self.region.bias?);
        let section = elf.section_at(linked)?;
        let (before, after) = (linked - section.address, section.addresses().end - linked);
        let range = address.saturating_sub(before)..address.saturating_add(after);
        Some(SectionRef { name: &section.name, range, executable: section.executable() })
    }
}
