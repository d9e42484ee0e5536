use std::ops::Range;
use std::sync::Arc;

use tracewright_core::MemorySpace;

use crate::bytes::Bytes;
use crate::elf::{Elf, Place, Segment};
use crate::error::{Error, Reason, Remark};
use crate::file::File;
use crate::image::Image;
use crate::processes::Processes;
use crate::region::Region;

/// Builder of an [`Image`]. Where two parts share an address, the one added first wins.
#[derive(Debug, Default)]
pub struct Builder {
    pub(crate) files: Vec<Arc<File>>,
    pub(crate) regions: Vec<Region>,
    pub(crate) remarks: Vec<Remark>,
    /// Indexed by the number of a process's memory, from 1 on: the memory it falls back to; 0 for none.
    pub(crate) inherited: Vec<u32>,
    pub(crate) processes: Processes,
}

/// File of which parts are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId(u32);

impl Builder {
    /// Adds `bytes` at `address`, for example the memory dump of a snapshot. `name` is used in messages.
    ///
    /// # Errors
    /// Fails if there are no bytes.
    pub fn raw(&mut self, name: &str, bytes: Bytes, address: u64, space: MemorySpace) -> Result<(), Error> {
        if bytes.is_empty() {
            return Err(Error::new(name, Reason::Empty));
        }
        let whole = Segment { address, offset: 0, len: bytes.len() as u64, executable: true };
        self.region(name, bytes.len(), &whole, None, space);
        self.files.push(File::new(name, bytes, None).into());
        Ok(())
    }

    /// Adds memory like [`raw`](Self::raw) to which the file `mapped` was mapped, beginning at this offset in
    /// the file.
    pub fn raw_mapped(
        &mut self,
        name: &str,
        bytes: Bytes,
        address: u64,
        space: MemorySpace,
        (mapped, offset): (&str, u64),
    ) -> Result<(), Error> {
        self.raw(name, bytes, address, space)?;
        if let Some(file) = self.last() {
            file.mapped = Some((mapped.into(), offset));
        }
        Ok(())
    }

    /// Adds an ELF file: the parts that are loaded when it runs, and its symbols and lines. `at` says where
    /// it was loaded, see [`Place`]. `name` is used in messages.
    ///
    /// # Errors
    /// Fails if the file is not an ELF file or cannot be used. Nothing is added then.
    pub fn elf(
        &mut self,
        name: &str,
        bytes: Bytes,
        at: impl Into<Place>,
        space: MemorySpace,
    ) -> Result<(), Error> {
        let (elf, relocated) = Elf::new(bytes.as_slice()).map_err(|reason| Error::new(name, reason))?;
        let bias = at.into().bias(&elf).map_err(|reason| Error::new(name, reason))?;
        for segment in &elf.segments {
            self.region(name, bytes.len(), segment, Some(bias), space);
        }
        let mut file = File::relocated(name, bytes, elf, relocated);
        file.bias = Some(bias);
        self.files.push(file.into());
        Ok(())
    }

    /// Adds a file, ELF or not, of which parts are [`map`](Self::map)ped later. `name` is used in messages.
    pub fn file(&mut self, name: &str, bytes: Bytes) -> FileId {
        let file = match Elf::new(bytes.as_slice()) {
            Ok((elf, relocated)) => File::relocated(name, bytes, elf, relocated),
            Err(_) => File::new(name, bytes, None),
        };
        self.in_parts(file)
    }

    /// Adds a file like [`file`](Self::file), but never reads it as ELF.
    pub(crate) fn memory(&mut self, name: &str, bytes: Bytes) -> FileId {
        self.in_parts(File::new(name, bytes, None))
    }

    /// Adds bytes that replace code of other files at run time, for example a branch that the kernel patched. Parts
    /// are [`map`](Self::map)ped later, to a memory that inherits the others ([`number`](Self::number)). Symbols and
    /// lines are those of the code that is hidden.
    pub fn patches(&mut self, name: &str, bytes: Bytes) -> FileId {
        let id = self.memory(name, bytes);
        if let Some(file) = self.last() {
            file.is_patch = true;
        }
        id
    }

    fn in_parts(&mut self, mut file: File) -> FileId {
        file.in_parts = true;
        self.files.push(file.into());
        FileId(self.files.len() as u32 - 1)
    }

    /// Says of the file added last what `file` says of its mapping.
    pub(crate) fn mapped_like(&mut self, file: &File) {
        if let Some(last) = self.last() {
            last.in_parts = file.in_parts;
            last.mapped.clone_from(&file.mapped);
        }
    }

    /// Sets the path that the file added last had where it ran.
    pub fn ran_as(&mut self, path: &str) {
        if let Some(file) = self.last() {
            file.ran_as = Some(path.into());
        }
    }

    /// Sets the debug file of the file added last: the symbols and lines that it was stripped of, for the
    /// same addresses.
    pub fn debug(&mut self, bytes: Bytes) {
        if let Some(file) = self.last() {
            file.debug =
                Elf::names_only(bytes.as_slice()).map(|elf| Box::new(File::new("", bytes, Some(elf))));
        }
    }

    /// Adds a file whose bytes are missing, with the reason for messages. It still hides parts that are added
    /// later at the same addresses.
    pub fn absent(&mut self, name: &str, why: &str) -> FileId {
        let id = self.file(name, Bytes::from(Vec::new()));
        if let Some(file) = self.last() {
            file.absent = Some(why.into());
        }
        id
    }

    /// Maps the part of `file` from `offset` on to `range`, as far as the file goes.
    pub fn map(&mut self, file: FileId, range: Range<u64>, offset: u64, space: MemorySpace) {
        let Some(of) = self.files.get_mut(file.0 as usize).and_then(Arc::get_mut) else { return };
        let in_file = (of.bytes.len() as u64).saturating_sub(offset);
        let in_file = if of.absent.is_some() { u64::MAX } else { in_file };
        let range = range.start..range.end.min(range.start.saturating_add(in_file));
        let place = Place::Mapping { address: range.start, offset };
        let bias = of.elf.as_ref().and_then(|elf| place.bias(elf).ok());
        of.bias = of.bias.or(bias);
        if !range.is_empty() {
            let offset = offset as usize;
            self.regions.push(Region { file: file.0, offset, range, space, executable: true, bias });
        }
    }

    /// Returns a new number for the memory of a process ([`MemorySpace::of_process`]). Where nothing is
    /// mapped to it, the memory with the number `inherited` is used, unless that is 0. Returns `None` if no
    /// numbers are left.
    pub fn number(&mut self, inherited: u32) -> Option<u32> {
        let number = self.inherited.len() as u32 + 1;
        if number > MemorySpace::LAST_PROCESS {
            return None;
        }
        self.inherited.push(if inherited < number { inherited } else { 0 });
        Some(number)
    }

    /// Returns the table of processes and threads.
    pub fn processes(&mut self) -> &mut Processes {
        &mut self.processes
    }

    /// Adds the region of a segment for the file that is added next, as far as the file has bytes and the
    /// address space goes.
    fn region(
        &mut self,
        name: &str,
        file_len: usize,
        segment: &Segment,
        bias: Option<u64>,
        space: MemorySpace,
    ) {
        let start = segment.address.wrapping_add(bias.unwrap_or(0));
        // Ranges exclude their end, so no range contains the very last address.
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
            self.regions.push(Region { file, offset, range, space, executable: segment.executable, bias });
        }
    }

    /// Returns the file added last, unless an image shares it.
    fn last(&mut self) -> Option<&mut File> {
        self.files.last_mut().and_then(Arc::get_mut)
    }

    /// Builds the image.
    pub fn build(self) -> Image {
        Image::new(self)
    }
}
