use crate::memory::{PAGE, Rights};

/// Cache of page locations in the bytes of memory, with one table for reads and one for writes.
#[derive(Clone, Debug)]
pub struct Tlb {
    read: Table,
    write: Table,
    skip: bool,
}

type Table = Box<[Entry; SIZE]>;

const SIZE: usize = 256;

#[derive(Clone, Copy, Debug)]
struct Entry {
    page: u64,
    frame: usize,
}

/// An entry that matches no address.
const EMPTY: Entry = Entry { page: u64::MAX, frame: 0 };

impl Tlb {
    /// Creates an empty cache.
    pub fn new() -> Self {
        Self { read: Box::new([EMPTY; SIZE]), write: Box::new([EMPTY; SIZE]), skip: false }
    }

    /// Removes all entries.
    pub fn flush(&mut self) {
        self.read.fill(EMPTY);
        self.write.fill(EMPTY);
    }

    /// Skips the next addition, which does not hold for all of the page.
    pub fn skip_next(&mut self) {
        self.skip = true;
    }

    /// Returns where `address` can be read, if known.
    #[inline(always)]
    pub fn read(&self, address: u64) -> Option<usize> {
        find(&self.read, address)
    }

    /// Returns where `address` can be written, if known.
    #[inline(always)]
    pub fn write(&self, address: u64) -> Option<usize> {
        find(&self.write, address)
    }

    /// Adds the location of the page of `address`, for reads or writes.
    pub fn add(&mut self, address: u64, frame: usize, rights: Rights) {
        if !std::mem::take(&mut self.skip) {
            let table = if rights == Rights::WRITE { &mut self.write } else { &mut self.read };
            let page = address / PAGE;
            table[page as usize % SIZE] = Entry { page, frame };
        }
    }
}

impl Default for Tlb {
    fn default() -> Self {
        Self::new()
    }
}

#[inline(always)]
fn find(table: &Table, address: u64) -> Option<usize> {
    let page = address / PAGE;
    let entry = &table[page as usize % SIZE];
    (entry.page == page).then_some(entry.frame + (address % PAGE) as usize)
}
