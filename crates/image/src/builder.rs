use tracewright_core::MemorySpace;

use crate::bytes::Bytes;
use crate::elf::{Elf, Place, Section, Segment};
use crate::error::{Error, Reason};
use crate::file::File;
use crate::image::Image;
use crate::region::Region;
use crate::remark::Remark;

/// Collects what an [`Image`] is made of. Where two things lie at one address, the one added first is there.
#[derive(Debug, Default)]
pub struct Builder {
    pub(crate) files: Vec<File>,
    pub(crate) regions: Vec<Region>,
    pub(crate) remarks: Vec<Remark>,
}

impl Builder {
    /// Adds `bytes` at `address`, the memory dump of a snapshot for one. `name` is for people.
    ///
    /// # Errors
    /// If there are no bytes.
    pub fn raw(&mut self, name: &str, bytes: Bytes, address: u64, space: MemorySpace) -> Result<(), Error> {
        if bytes.is_empty() {
            return Err(Error::new(name, Reason::Empty));
        }
        let whole = Segment { address, offset: 0, len: bytes.len() as u64, executable: true };
        self.region(name, bytes.len(), &whole, 0, space);
        self.files.push(File::new(name, bytes, None));
        Ok(())
    }

    /// As [`raw`](Self::raw), of memory that the file `mapped` was mapped to, from this offset in it on.
    ///
    /// # Errors
    /// If there are no bytes.
    pub fn raw_mapped(
        &mut self,
        name: &str,
        bytes: Bytes,
        address: u64,
        space: MemorySpace,
        (mapped, offset): (&str, u64),
    ) -> Result<(), Error> {
        self.raw(name, bytes, address, space)?;
        if let Some(file) = self.files.last_mut() {
            file.mapped = Some((mapped.into(), offset));
        }
        Ok(())
    }

    /// Adds an ELF file: what is loaded when it runs, and its symbols and lines. `at` is where it was, see [`Place`]:
    /// the address of its first mapping, or `None` for where it was linked to be. `name` is for people.
    ///
    /// # Errors
    /// If it is not an ELF file, or one nothing can be done with. Nothing is added then.
    pub fn elf(
        &mut self,
        name: &str,
        bytes: Bytes,
        at: impl Into<Place>,
        space: MemorySpace,
    ) -> Result<(), Error> {
        let elf = Elf::new(bytes.as_slice(), at.into()).map_err(|reason| Error::new(name, reason))?;
        if elf.sections.iter().any(is_compressed_lines) {
            self.remarks.push(Remark::CompressedLines { name: name.into() });
        }
        for segment in &elf.segments {
            self.region(name, bytes.len(), segment, elf.bias, space);
        }
        self.files.push(File::new(name, bytes, Some(elf)));
        Ok(())
    }

    /// Adds the region of a segment, as much of it as the file has and as fits into the address space, for the file that
    /// is added next.
    fn region(&mut self, name: &str, file_len: usize, segment: &Segment, bias: u64, space: MemorySpace) {
        let start = segment.address.wrapping_add(bias);
        // Ranges do not include their end, so that the last address of all cannot be part of one.
        let end = start.saturating_add(segment.len);
        if end - start < segment.len {
            self.remarks.push(Remark::BeyondTheEnd { name: name.into(), start });
        }
        let in_file = (file_len as u64).saturating_sub(segment.offset).min(end - start);
        let range = start..start + in_file;
        if range.end < end {
            self.remarks.push(Remark::Truncated { name: name.into(), missing: range.end..end });
        }
        if !range.is_empty() {
            let file = self.files.len() as u32;
            let offset = segment.offset as usize;
            self.regions.push(Region { file, offset, range, space, executable: segment.executable });
        }
    }

    /// The image of all that was added.
    pub fn build(self) -> Image {
        Image::new(self)
    }
}

fn is_compressed_lines(section: &Section) -> bool {
    &*section.name == ".zdebug_line"
        || &*section.name == ".debug_line" && section.is_in_file() && !section.is_plain()
}
