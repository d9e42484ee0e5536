//! Files of an image at the addresses for which they were linked.

use tracewright_core::MemorySpace;

use crate::builder::Builder;
use crate::elf::Place;
use crate::file::File;
use crate::image::Image;

/// Executable segment of an ELF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeSegment {
    /// Linked address.
    pub address: u64,
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// Number of its bytes in the file.
    pub len: u64,
}

impl CodeSegment {
    /// Returns the offset in the file of the byte linked for `address`, if the segment contains it.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let further = address.checked_sub(self.address).filter(|&further| further < self.len)?;
        self.offset.checked_add(further)
    }
}

/// File of an image.
#[derive(Clone, Copy, Debug)]
pub struct FileRef<'a> {
    pub(crate) file: &'a File,
}

impl<'a> FileRef<'a> {
    /// Returns the name that was given, usually a path.
    pub fn name(&self) -> &'a str {
        &self.file.name
    }

    /// Returns the path where the file ran, if known, else its name.
    pub fn path(&self) -> &'a str {
        self.file.ran_as.as_deref().unwrap_or(&self.file.name)
    }

    /// Returns the build ID, if this is an ELF file that has one.
    pub fn build_id(&self) -> Option<&'a [u8]> {
        self.file.build_id()
    }

    /// Returns the executable segments in header order. A relocatable file (a kernel module) has none.
    pub fn code_segments(&self) -> impl Iterator<Item = CodeSegment> + 'a {
        let linked = self.file.elf.as_ref().filter(|elf| !elf.relocatable);
        let segments = linked.into_iter().flat_map(|elf| &elf.segments).filter(|segment| segment.executable);
        segments.map(|segment| CodeSegment {
            address: segment.address,
            offset: segment.offset,
            len: segment.len,
        })
    }

    /// Returns whether this is an ELF file. The addresses of other files are those in memory.
    pub fn is_elf(&self) -> bool {
        self.file.elf.is_some()
    }
}

impl Image {
    /// Returns all files in the order of their numbers.
    pub fn files(&self) -> impl Iterator<Item = FileRef<'_>> {
        self.files.iter().map(|file| FileRef { file })
    }

    /// Returns the number of the file that has the code at `address`, and the linked address. Outside ELF
    /// files the address stays the same.
    pub fn place(&self, address: u64, space: MemorySpace) -> Option<(u32, u64)> {
        if let Some(program) = self.program(address, space)
            && let Some(bias) = program.bias
        {
            return Some((program.file, address.wrapping_sub(bias)));
        }
        let region = self.owner(address, space)?;
        self.files[region.file as usize].absent.is_none().then_some((region.file, address))
    }

    /// Returns the memory space that a file has in [`as_linked`](Self::as_linked).
    pub const fn space_of(file: u32) -> MemorySpace {
        MemorySpace::ANY.of_process(file + 1)
    }

    /// Returns an image with the same files, each in its own memory space ([`space_of`](Self::space_of)) at
    /// its linked addresses, as [`place`](Self::place) gives them.
    pub fn as_linked(&self) -> Self {
        let mut builder = Builder::default();
        for (number, file) in (0..).zip(&self.files) {
            builder.number(0);
            let space = Self::space_of(number);
            // The file was parsed before, so it parses again.
            let original = file.original.as_ref().unwrap_or(&file.bytes);
            let is_there = file.elf.is_some()
                && builder.elf(&file.name, original.clone(), Place::AsLinked, space).is_ok();
            if is_there {
                file.ran_as.iter().for_each(|path| builder.ran_as(path));
                file.debug.iter().for_each(|debug| builder.debug(debug.bytes.clone()));
                continue;
            }
            // A memory dump that looks like an ELF file has no symbols where it ran either.
            let id = match &file.elf {
                Some(_) => builder.file(&file.name, original.clone()),
                None => builder.memory(&file.name, file.bytes.clone()),
            };
            for region in self.regions.iter().filter(|region| region.file == number) {
                builder.map(id, region.range.clone(), region.offset as u64, space);
            }
        }
        builder.build()
    }
}
