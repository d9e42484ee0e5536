use std::ops::Range;

use object::elf;
use tracewright_core::MemorySpace;

use crate::file::File;
use crate::lines::Lines;

/// Bytes of a file at addresses.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// Index of the file.
    pub file: u32,
    /// Offset of the bytes in the file.
    pub offset: usize,
    pub range: Range<u64>,
    pub space: MemorySpace,
    pub executable: bool,
    /// Offset from linked to loaded addresses of its ELF file; `None` if unknown.
    pub bias: Option<u64>,
}

impl Region {
    /// Returns the bytes at `range`, a part of the region.
    #[inline]
    pub fn bytes<'a>(&self, file: &'a File, range: &Range<u64>) -> Option<&'a [u8]> {
        // A missing file may have any offset.
        let start = self.offset.checked_add((range.start - self.range.start) as usize)?;
        file.bytes.as_slice().get(start..start.checked_add((range.end - range.start) as usize)?)
    }
}

/// Origin of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes without further information.
    Raw,
    /// Loaded part of an ELF file.
    Elf,
}

/// Region of an image.
#[derive(Clone, Copy, Debug)]
pub struct RegionRef<'a> {
    pub(crate) file: &'a File,
    pub(crate) region: &'a Region,
}

/// Section of an ELF file at its place in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionRef<'a> {
    /// Name, such as `.text`.
    pub name: &'a str,
    /// Addresses in memory.
    pub range: Range<u64>,
    /// Whether the section has code.
    pub executable: bool,
}

impl<'a> RegionRef<'a> {
    /// Returns the name that was given, usually of the file.
    pub fn name(&self) -> &'a str {
        &self.file.name
    }

    /// Returns the file that was mapped to this region, and the file offset of the region's start. The region
    /// is such a mapping ([`Builder::map`](crate::Builder::map)) or a dump of one
    /// ([`Builder::raw_mapped`](crate::Builder::raw_mapped)).
    pub fn mapped(&self) -> Option<(&'a str, u64)> {
        let Self { file, region } = self;
        let whole = file.in_parts.then_some((&*file.name, region.offset as u64));
        whole.or_else(|| file.mapped.as_ref().map(|(file, offset)| (&**file, *offset)))
    }

    /// Returns the name of a file and the place of `address` in it, for code without symbols: the linked
    /// address in an ELF file, else the offset in the dump or in the file that was mapped.
    pub fn offset(&self, address: u64) -> (&'a str, u64) {
        if let Some(linked) = self.linked(address) {
            return (self.name(), linked);
        }
        let (name, start) = self.mapped().unwrap_or((self.name(), 0));
        (name, start.wrapping_add(address.wrapping_sub(self.range().start)))
    }

    /// Returns the origin of the region.
    pub fn kind(&self) -> Kind {
        if self.file.elf.is_some() { Kind::Elf } else { Kind::Raw }
    }

    /// Returns the addresses of the region, including those that another region hides.
    pub fn range(&self) -> Range<u64> {
        self.region.range.clone()
    }

    /// Returns the memory spaces of the region.
    pub fn space(&self) -> MemorySpace {
        self.region.space
    }

    /// Returns the linked address of `address`, which must lie in the region.
    pub fn linked(&self, address: u64) -> Option<u64> {
        self.file.elf.as_ref()?;
        self.region.bias.map(|bias| address.wrapping_sub(bias))
    }

    /// Returns whether the region may be code: an executable part of an ELF file, or raw bytes.
    pub fn executable(&self) -> bool {
        self.region.executable
    }

    /// Returns the build ID of the ELF file.
    pub fn build_id(&self) -> Option<&'a [u8]> {
        self.file.build_id()
    }

    /// Returns whether the ELF file has symbol tables.
    pub fn has_symbols(&self) -> bool {
        let tables = [elf::SHT_SYMTAB, elf::SHT_DYNSYM];
        self.file.elf.as_ref().is_some_and(|elf| {
            elf.sections.iter().any(|section| tables.contains(&section.kind) && section.len > 0)
        })
    }

    /// Returns whether the ELF file has source lines.
    pub fn has_lines(&self) -> bool {
        self.file.elf.as_ref().is_some_and(Lines::has_any)
    }

    /// Returns the section called `name` of the ELF file, if it is loaded.
    pub fn section_named(&self, name: &str) -> Option<SectionRef<'a>> {
        let (elf, bias) = (self.file.elf.as_ref()?, self.region.bias?);
        let section = elf.sections.iter().find(|section| section.loaded && &*section.name == name)?;
        let start = section.address.wrapping_add(bias);
        let range = start..start.saturating_add(section.len);
        Some(SectionRef { name: &section.name, range, executable: section.executable() })
    }

    /// Returns the section at `address`; code should not run past its end.
    pub fn section(&self, address: u64) -> Option<SectionRef<'a>> {
        let elf = self.file.elf.as_ref()?;
        let linked = address.wrapping_sub(self.region.bias?);
        let section = elf.section_at(linked)?;
        let (before, after) = (linked - section.address, section.addresses().end - linked);
        let range = address.saturating_sub(before)..address.saturating_add(after);
        Some(SectionRef { name: &section.name, range, executable: section.executable() })
    }
}
