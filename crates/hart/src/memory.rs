//! The memory of a machine.

use std::collections::{BTreeMap, HashMap};
use std::ops::BitOr;

/// Bytes in a page.
pub const PAGE: u64 = 4096;

/// Sparse memory: regions, whose pages take room when they are first touched.
#[derive(Clone, Debug)]
pub struct Memory {
    /// By first address.
    regions: BTreeMap<u64, Region>,
    /// Where in `bytes` each touched page is.
    frames: HashMap<u64, usize>,
    free: Vec<usize>,
    bytes: Vec<u8>,
    limit: usize,
    epoch: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    /// Address after the last byte; 0: of the whole address space.
    end: u64,
    rights: Rights,
}

/// What may be done with memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights(pub u8);

/// Memory is not there, or may not be used so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is nothing at this address, or this may not be done there.
    Access(u64),
    /// The limit on memory is reached.
    Full,
}

impl Rights {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// To read.
    pub const READ: Self = Self(1);
    /// To write.
    pub const WRITE: Self = Self(2);
    /// To execute.
    pub const EXECUTE: Self = Self(4);
    /// All of them.
    pub const ALL: Self = Self(7);

    /// Whether it has all of `others`.
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
    /// Without any region; at most so many bytes of touched pages.
    pub fn new(limit: usize) -> Self {
        Self {
            regions: BTreeMap::new(),
            frames: HashMap::new(),
            free: Vec::new(),
            bytes: Vec::new(),
            limit,
            epoch: 0,
        }
    }

    /// Changes whenever a region does: what was remembered about where pages are is no longer true then.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Makes `start..start + len`, widened to whole pages, a region of zeros. What was there is gone.
    pub fn map(&mut self, start: u64, len: u64, rights: Rights) {
        self.unmap(start, len);
        let Some((mut start, mut end)) = pages(start, len) else { return };
        // Neighbours that may be used in the same way are one.
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

    /// Makes `start..start + len`, widened to whole pages, memory. What is there already keeps its bytes and gains `rights`.
    /// Takes a step for each region there, however large they are.
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

    /// The pages of `start..end` that were touched, in order.
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

    /// How many regions there are.
    pub fn regions(&self) -> usize {
        self.regions.len()
    }

    /// Takes `start..start + len`, widened to whole pages, away.
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

    /// Gives back the room of the pages in `start..end`.
    fn free_frames(&mut self, start: u64, end: u64) {
        let is_in = |page: u64| (start / PAGE..end / PAGE).contains(&page);
        if (end - start) / PAGE < self.frames.len() as u64 {
            for page in start / PAGE..end / PAGE {
                self.free.extend(self.frames.remove(&page));
            }
        } else {
            self.free.extend(self.frames.extract_if(|&page, _| is_in(page)).map(|(_, frame)| frame));
        }
    }

    /// Changes what may be done with `start..start + len`, widened to whole pages.
    ///
    /// # Errors
    /// When not all of it is memory; nothing is changed then.
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

    /// Whether all of `start..start + len` is memory.
    ///
    /// # Errors
    /// When it is not.
    pub fn check_mapped(&self, start: u64, len: u64) -> Result<(), Fault> {
        let Some((mut at, end)) = pages(start, len) else { return Ok(()) };
        while at < end {
            at = self.region(at).ok_or(Fault::Access(at))?.end;
        }
        Ok(())
    }

    /// Makes the bytes of the pages in `start..start + len` zero again; their room is given back.
    pub fn discard(&mut self, start: u64, len: u64) {
        let Some((start, end)) = pages(start, len) else { return };
        self.epoch += 1;
        self.free_frames(start, end);
    }

    /// Moves the bytes of the pages in `from..from + len` to `to`, without copying. Regions stay as they are.
    pub fn move_pages(&mut self, from: u64, len: u64, to: u64) {
        let Some((start, end)) = pages(from, len) else { return };
        self.epoch += 1;
        let pages = start / PAGE..end / PAGE;
        let moved: Vec<_> = if pages.end - pages.start < self.frames.len() as u64 {
            pages.clone().filter_map(|page| self.frames.remove_entry(&page)).collect()
        } else {
            self.frames.extract_if(|page, _| pages.contains(page)).collect()
        };
        for (page, frame) in moved {
            self.free.extend(self.frames.insert(to / PAGE + (page - pages.start), frame));
        }
    }

    /// What may be done at `address`; `None` if there is no memory.
    pub fn rights(&self, address: u64) -> Option<Rights> {
        self.region(address).map(|region| region.rights)
    }

    /// The lowest address at or above `from` where `len` bytes are free, in whole pages.
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

    /// Where in [`bytes`](Self::bytes) the page of `address` is, if all of `rights` may be done there.
    ///
    /// # Errors
    /// When they may not.
    pub fn frame(&mut self, address: u64, rights: Rights) -> Result<usize, Fault> {
        let region = self.region(address).ok_or(Fault::Access(address))?;
        if !region.rights.has(rights) {
            return Err(Fault::Access(address));
        }
        self.touch(address)
    }

    /// All touched pages, one after another; see [`frame`](Self::frame).
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same, to write to.
    #[inline(always)]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Reads `to.len()` bytes from `address` on, as the program could.
    ///
    /// # Errors
    /// When the program may not.
    pub fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), Fault> {
        self.each_page(address, to.len(), Rights::READ, |bytes, range| to[range].copy_from_slice(bytes))
    }

    /// Writes `from` to `address` and on, as the program could.
    ///
    /// # Errors
    /// When the program may not.
    pub fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.each_page(address, from.len(), Rights::WRITE, |bytes, range| bytes.copy_from_slice(&from[range]))
    }

    /// Writes `from` to `address` and on, whatever the program may do there: loaders do so.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn load(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.each_page(address, from.len(), Rights::NONE, |bytes, range| bytes.copy_from_slice(&from[range]))
    }

    /// Reads a little-endian number of `N` bytes, whatever the program may do there; `None` if there is no memory.
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
        mut each: impl FnMut(&mut [u8], std::ops::Range<usize>),
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

    /// Makes a region that contains `at` two: before and from there on.
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

/// First address, and address after the last, in whole pages; `None` if there are none or too many.
fn pages(start: u64, len: u64) -> Option<(u64, u64)> {
    let end = start.checked_add(len)?.checked_next_multiple_of(PAGE)?;
    let start = start / PAGE * PAGE;
    (len > 0 && start < end).then_some((start, end))
}
