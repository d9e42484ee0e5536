//! Memory of a machine.

use std::collections::{BTreeMap, HashMap};
use std::ops::{BitOr, Range};

/// Page size in bytes.
pub const PAGE: u64 = 4096;

/// Sparse memory: regions whose pages are allocated when they are first touched.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Regions by first address.
    regions: BTreeMap<u64, Region>,
    /// Index in `bytes` of each touched page.
    frames: HashMap<u64, usize>,
    free: Vec<usize>,
    bytes: Vec<u8>,
    limit: usize,
    epoch: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    /// Address after the last byte; 0 for the end of the address space.
    end: u64,
    rights: Rights,
}

/// Access rights of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights(pub u8);

/// Error of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no memory at this address, or the access is not allowed.
    Access(u64),
    /// The memory limit is reached.
    Full,
}

impl Rights {
    /// No access.
    pub const NONE: Self = Self(0);
    /// Read.
    pub const READ: Self = Self(1);
    /// Write.
    pub const WRITE: Self = Self(2);
    /// Execute.
    pub const EXECUTE: Self = Self(4);
    /// Read, write and execute.
    pub const ALL: Self = Self(7);

    /// Returns whether all of `others` are included.
    #[inline]
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

impl BitOr for Rights {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Memory {
    /// Creates memory without regions. At most `limit` bytes of pages can be touched.
    pub fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Returns a number that changes whenever a region does, which invalidates cached page locations.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Makes `start..start + len`, widened to whole pages, a region of zeros. Previous contents are lost.
    pub fn map(&mut self, start: u64, len: u64, rights: Rights) {
        self.unmap(start, len);
        let Some((mut start, mut end)) = pages(start, len) else { return };
        // Neighbours with the same rights are merged.
        if let Some((&before, region)) = self.regions.range(..start).next_back()
            && region.end == start
            && region.rights == rights
        {
            start = before;
        }
        if let Some(&Region { end: after, rights: of_next }) = self.regions.get(&end)
            && of_next == rights
        {
            self.regions.remove(&end);
            end = after;
        }
        self.regions.insert(start, Region { end, rights });
    }

    /// Makes `start..start + len`, widened to whole pages, memory. Existing memory keeps its bytes and gains `rights`.
    /// The cost depends on the number of regions, not on their size.
    pub fn extend(&mut self, start: u64, len: u64, rights: Rights) {
        let Some((mut at, end)) = pages(start, len) else { return };
        while at < end {
            let here = self.region(at);
            let next = match here {
                Some(region) => region.end,
                None => self.regions.range(at..).next().map_or(end, |(&start, _)| start),
            };
            let len = next.min(end) - at;
            match here {
                Some(region) if region.rights.has(rights) => {}
                // All of it is memory.
                Some(region) => drop(self.protect(at, len, region.rights | rights)),
                None => self.map(at, len, rights),
            }
            at += len;
        }
    }

    /// Returns the touched pages of `start..end`, sorted.
    pub fn touched(&self, start: u64, end: u64) -> Vec<u64> {
        let pages = start / PAGE..end.div_ceil(PAGE);
        let mut touched: Vec<_> = if pages.end.saturating_sub(pages.start) < self.frames.len() as u64 {
            pages.filter(|page| self.frames.contains_key(page)).collect()
        } else {
            self.frames.keys().copied().filter(|page| pages.contains(page)).collect()
        };
        touched.sort_unstable();
        touched.into_iter().map(|page| page * PAGE).collect()
    }

    /// Returns the number of regions.
    pub fn regions(&self) -> usize {
        self.regions.len()
    }

    /// Removes `start..start + len`, widened to whole pages.
    pub fn unmap(&mut self, start: u64, len: u64) {
        let Some((start, end)) = pages(start, len) else { return };
        self.epoch += 1;
        self.split(start);
        self.split(end);
        let gone: Vec<_> = self.regions.range(start..end).map(|(&at, _)| at).collect();
        for at in gone {
            self.regions.remove(&at);
        }
        self.free_frames(start, end);
    }

    /// Frees the pages in `start..end`.
    fn free_frames(&mut self, start: u64, end: u64) {
        let freed = self.take_frames(&(start / PAGE..end / PAGE));
        self.free.extend(freed.into_iter().map(|(_, frame)| frame));
    }

    /// Removes and returns the frames of these pages. The cost depends on the smaller number: of pages, or of frames.
    fn take_frames(&mut self, pages: &Range<u64>) -> Vec<(u64, usize)> {
        if pages.end - pages.start < self.frames.len() as u64 {
            pages.clone().filter_map(|page| self.frames.remove_entry(&page)).collect()
        } else {
            self.frames.extract_if(|page, _| pages.contains(page)).collect()
        }
    }

    /// Changes the rights of `start..start + len`, widened to whole pages. Changes nothing if not all of it is memory.
    pub fn protect(&mut self, start: u64, len: u64, rights: Rights) -> Result<(), Fault> {
        let Some((start, end)) = pages(start, len) else { return Ok(()) };
        self.check_mapped(start, len)?;
        self.epoch += 1;
        self.split(start);
        self.split(end);
        for (_, region) in self.regions.range_mut(start..end) {
            region.rights = rights;
        }
        Ok(())
    }

    /// Checks that all of `start..start + len` is memory.
    pub fn check_mapped(&self, start: u64, len: u64) -> Result<(), Fault> {
        let Some((mut at, end)) = pages(start, len) else { return Ok(()) };
        while at < end {
            at = self.region(at).ok_or(Fault::Access(at))?.end;
        }
        Ok(())
    }

    /// Clears and frees the pages in `start..start + len`.
    pub fn discard(&mut self, start: u64, len: u64) {
        let Some((start, end)) = pages(start, len) else { return };
        self.epoch += 1;
        self.free_frames(start, end);
    }

    /// Moves the pages in `from..from + len` to `to` without copying. Regions stay as they are.
    pub fn move_pages(&mut self, from: u64, len: u64, to: u64) {
        let Some((start, end)) = pages(from, len) else { return };
        self.epoch += 1;
        let pages = start / PAGE..end / PAGE;
        for (page, frame) in self.take_frames(&pages) {
            self.free.extend(self.frames.insert(to / PAGE + (page - pages.start), frame));
        }
    }

    /// Returns the rights at `address`; `None` if there is no memory.
    pub fn rights(&self, address: u64) -> Option<Rights> {
        self.region(address).map(|region| region.rights)
    }

    /// Returns the lowest address at or above `from` where `len` bytes are free, in whole pages.
    pub fn find_free(&self, from: u64, len: u64) -> Option<u64> {
        let len = len.checked_next_multiple_of(PAGE)?;
        let mut at = self.region(from).map_or(from, |region| region.end);
        for (&start, region) in self.regions.range(at..) {
            if start - at >= len {
                break;
            }
            at = region.end;
        }
        at.checked_add(len).map(|_| at)
    }

    /// Returns the index in [`bytes`](Self::bytes) of the page of `address`, which must have all of `rights`.
    pub fn frame(&mut self, address: u64, rights: Rights) -> Result<usize, Fault> {
        let region = self.region(address).ok_or(Fault::Access(address))?;
        if !region.rights.has(rights) {
            return Err(Fault::Access(address));
        }
        self.touch(address)
    }

    /// Returns all touched pages; see [`frame`](Self::frame).
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns all touched pages for writing.
    #[inline(always)]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Reads `to.len()` bytes at `address`, which the program must be able to read.
    pub fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), Fault> {
        self.each_page(address, to.len(), Rights::READ, |bytes, range| to[range].copy_from_slice(bytes))
    }

    /// Writes `from` to `address`, where the program must be able to write.
    pub fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.each_page(address, from.len(), Rights::WRITE, |bytes, range| bytes.copy_from_slice(&from[range]))
    }

    /// Writes `from` to `address`, which must be memory, regardless of rights, as loaders do.
    pub fn load(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.each_page(address, from.len(), Rights::NONE, |bytes, range| bytes.copy_from_slice(&from[range]))
    }

    /// Reads a little-endian number of `N` bytes regardless of rights. Returns `None` if there is no memory.
    pub fn peek<const N: usize>(&mut self, address: u64) -> Option<[u8; N]> {
        let mut to = [0; N];
        self.each_page(address, N, Rights::NONE, |bytes, range| to[range].copy_from_slice(bytes)).ok()?;
        Some(to)
    }

    fn each_page(
        &mut self,
        address: u64,
        len: usize,
        rights: Rights,
        mut each: impl FnMut(&mut [u8], Range<usize>),
    ) -> Result<(), Fault> {
        let mut done = 0;
        while done < len {
            let at = address.wrapping_add(done as u64);
            let here = (at % PAGE) as usize;
            let count = (PAGE as usize - here).min(len - done);
            let frame = self.frame(at, rights)?;
            each(&mut self.bytes[frame + here..frame + here + count], done..done + count);
            done += count;
        }
        Ok(())
    }

    fn region(&self, address: u64) -> Option<Region> {
        let (_, region) = self.regions.range(..=address).next_back()?;
        (address < region.end).then_some(*region)
    }

    fn touch(&mut self, address: u64) -> Result<usize, Fault> {
        let page = address / PAGE;
        if let Some(&frame) = self.frames.get(&page) {
            return Ok(frame);
        }
        let frame = match self.free.pop() {
            Some(frame) => {
                self.bytes[frame..frame + PAGE as usize].fill(0);
                frame
            }
            None if self.bytes.len() + PAGE as usize > self.limit => return Err(Fault::Full),
            None => {
                let frame = self.bytes.len();
                self.bytes.resize(frame + PAGE as usize, 0);
                frame
            }
        };
        self.frames.insert(page, frame);
        Ok(frame)
    }

    /// Splits the region that contains `at` there.
    fn split(&mut self, at: u64) {
        if let Some((&start, region)) = self.regions.range_mut(..at).next_back()
            && region.end > at
        {
            let rest = *region;
            region.end = at;
            debug_assert!(start < at);
            self.regions.insert(at, rest);
        }
    }
}

/// Returns the first address and the address after the last, widened to whole pages. Returns `None` if the range is
/// empty or overflows.
fn pages(start: u64, len: u64) -> Option<(u64, u64)> {
    let end = start.checked_add(len)?.checked_next_multiple_of(PAGE)?;
    let start = start / PAGE * PAGE;
    (len > 0 && start < end).then_some((start, end))
}
