//! Cycles of single instructions, stored by block.

use std::collections::hash_map::Entry as Slot;
use std::ops::AddAssign;

use tracewright_core::{Block, Isa, MemorySpace};
use tracewright_flow::hash::HashMap;

/// Cost of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of times the instruction retired.
    pub retired: u64,
    /// Cycles from the retirement of the previous instruction to its own.
    pub cycles: u64,
    /// Part of `cycles` in which nothing retired.
    pub stalled: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.retired += other.retired;
        self.cycles += other.cycles;
        self.stalled += other.stalled;
    }
}

/// Number of a block among those that ran.
pub(crate) type Id = u32;

/// Cost of each instruction of each block.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    blocks: Vec<Entry>,
    index: HashMap<Key, Id>,
    /// The last block.
    last: Option<Id>,
    /// Memory used, in bytes.
    memory: usize,
}

/// Key of a block, without how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    start: u64,
    count: u32,
    isa: Isa,
    space: MemorySpace,
}

#[derive(Clone, Debug)]
struct Entry {
    key: Key,
    block: Block,
    /// Function of the block, as numbered by the caller.
    function: u32,
    runs: u64,
    /// Costs of single instructions.
    each: Box<[Cost]>,
    /// Costs that are known for all instructions together only.
    shared: Cost,
    /// Successor at the last run; the next run most often has the same.
    next: Id,
}

impl Costs {
    /// Returns the memory used, in bytes: some for each instruction of each block that ran.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Notes a run of a block and returns its number. `function` is called if the block is new.
    #[inline]
    pub(crate) fn run(&mut self, block: &Block, space: MemorySpace, function: impl FnOnce() -> u32) -> Id {
        let key = Key { start: block.start, count: block.count, isa: block.isa, space };
        let guess = self.last.map_or(0, |last| self.blocks[last as usize].next);
        let id = match self.blocks.get(guess as usize) {
            Some(entry) if entry.key == key => guess,
            _ => self.find(key, block, function),
        };
        self.blocks[id as usize].runs += 1;
        self.last = Some(id);
        id
    }

    fn find(&mut self, key: Key, block: &Block, function: impl FnOnce() -> u32) -> Id {
        let id = match self.index.entry(key) {
            Slot::Occupied(slot) => *slot.get(),
            Slot::Vacant(slot) => {
                let id = self.blocks.len() as Id;
                let each = block.count as usize * size_of::<Cost>();
                self.memory += each + size_of::<Entry>() + size_of::<(Key, Id)>();
                self.blocks.push(Entry {
                    key,
                    block: *block,
                    function: function(),
                    runs: 0,
                    each: vec![Cost::default(); block.count as usize].into(),
                    shared: Cost::default(),
                    next: 0,
                });
                *slot.insert(id)
            }
        };
        if let Some(last) = self.last {
            self.blocks[last as usize].next = id;
        }
        id
    }

    #[inline]
    pub(crate) fn function(&self, id: Id) -> u32 {
        self.blocks[id as usize].function
    }

    #[inline]
    pub(crate) fn add(&mut self, id: Id, at: u32, cycles: u64, stalled: u64) {
        let cost = &mut self.blocks[id as usize].each[at as usize];
        cost.cycles += cycles;
        cost.stalled += stalled;
    }

    /// Adds the common cost of `count` instructions of a block, from number `at` on.
    pub(crate) fn share(&mut self, id: Id, at: u32, count: u32, cycles: u64, stalled: u64) {
        let entry = &mut self.blocks[id as usize];
        if count == entry.block.count {
            entry.shared.cycles += cycles;
            entry.shared.stalled += stalled;
            return;
        }
        let each = entry.each.iter_mut().skip(at as usize).take(count as usize);
        let mut cycles = Portions::new(cycles, count.into());
        let mut stalled = Portions::new(stalled, count.into());
        for cost in each {
            cost.cycles += cycles.take(1);
            cost.stalled += stalled.take(1);
        }
    }

    /// Iterates over all blocks with their function and the cost of each instruction. A block that ended in several
    /// ways occurs once.
    pub fn blocks(&self) -> impl Iterator<Item = (&Block, MemorySpace, u32, Vec<Cost>)> {
        self.blocks.iter().map(|entry| {
            let mut cycles = Portions::new(entry.shared.cycles, entry.each.len() as u64);
            let mut stalled = Portions::new(entry.shared.stalled, entry.each.len() as u64);
            let each = entry.each.iter().map(|cost| Cost {
                retired: entry.runs,
                cycles: cost.cycles + cycles.take(1),
                stalled: cost.stalled + stalled.take(1),
            });
            (&entry.block, entry.key.space, entry.function, each.collect())
        })
    }
}

/// Divides a total into parts such that nothing is left over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portions {
    total: u64,
    among: u64,
    at: u64,
}

impl Portions {
    pub fn new(total: u64, among: u64) -> Self {
        Self { total, among, at: 0 }
    }

    /// Returns the part of the next `count` units.
    pub fn take(&mut self, count: u64) -> u64 {
        let before = self.upto();
        self.at += count;
        self.upto() - before
    }

    fn upto(&self) -> u64 {
        (u128::from(self.total) * u128::from(self.at) / u128::from(self.among.max(1))) as u64
    }
}
