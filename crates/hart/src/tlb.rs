use crate::memory::PAGE;

/// Remembers where in the bytes of memory pages are, one table for each kind of access.
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

/// No address is in this page.
const EMPTY: Entry = Entry { page: u64::MAX, frame: 0 };

impl Tlb {
    /// Remembers nothing.
    pub fn new() -> Self {
        Self { read: Box::new([EMPTY; SIZE]), write: Box::new([EMPTY; SIZE]), skip: false }
    }

    /// Forgets all.
    pub fn flush(&mut self) {
        self.read.fill(EMPTY);
        self.write.fill(EMPTY);
    }

    /// What is added next is not to be remembered: it is not so for all of the page.
    pub fn skip_next(&mut self) {
        self.skip = true;
    }

    /// Where `address` can be read, if that is known.
    #[inline(always)]
    pub fn read(&self, address: u64) -> Option<usize> {
        find(&self.read, address)
    }

    /// Where it can be written.
    #[inline(always)]
    pub fn write(&self, address: u64) -> Option<usize> {
        find(&self.write, address)
    }

    /// Remembers that the page of `address` can be read there.
    pub fn add_read(&mut self, address: u64, frame: usize) {
        if !std::mem::take(&mut self.skip) {
            add(&mut self.read, address, frame);
        }
    }

    /// Remembers that the page of `address` can be written there.
    pub fn add_write(&mut self, address: u64, frame: usize) {
        if !std::mem::take(&mut self.skip) {
            add(&mut self.write, address, frame);
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

fn add(table: &mut Table, address: u64, frame: usize) {
    let page = address / PAGE;
    table[page as usize % SIZE] = Entry { page, frame };
}
