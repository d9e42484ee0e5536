use std::collections::{HashMap, HashSet};

use tracewright_core::{Block, Class, Ended, Isa};
use tracewright_hart::{HartSink, Trap, cause};

/// A sink that counts blocks, remembers the last ones, and reports progress to the caller.
pub struct Watch<'a> {
    /// Each block that was executed, with its count.
    pub blocks: Vec<(Block, u64)>,
    by_block: HashMap<Block, usize>,
    /// Indices in `blocks` of those executed lately.
    quick: Vec<usize>,
    last: [Block; LAST],
    /// Number of blocks executed.
    pub count: u64,
    pub calls: u64,
    pub exceptions: u64,
    pub interrupts: u64,
    /// Threads or address spaces.
    pub contexts: HashSet<u64>,
    progress: &'a mut dyn FnMut(u64),
}

/// Number of blocks that are remembered.
const LAST: usize = 16;
const QUICK: usize = 1 << 12;
/// Blocks from one call of `progress` to the next.
const PACE: u64 = 1 << 20;
/// Most distinct blocks that are counted: bounds memory.
const MOST: usize = 1 << 21;

impl<'a> Watch<'a> {
    /// Creates a sink that calls `progress` now and then with the number of blocks executed so far.
    pub fn new(progress: &'a mut dyn FnMut(u64)) -> Self {
        let none = Block {
            start: 0,
            end: 0,
            count: 0,
            isa: Isa::Rv64,
            last_len: 0,
            class: Class::NEXT,
            ended: Ended::Cut,
        };
        Self {
            blocks: vec![(none, 0)],
            by_block: HashMap::new(),
            quick: vec![0; QUICK],
            last: [none; LAST],
            count: 0,
            calls: 0,
            exceptions: 0,
            interrupts: 0,
            contexts: HashSet::new(),
            progress,
        }
    }

    /// Returns the blocks that were executed last, in order.
    pub fn last(&self) -> impl Iterator<Item = &Block> {
        let count = self.count.min(LAST as u64);
        (self.count - count..self.count).map(|i| &self.last[i as usize % LAST])
    }

    #[cold]
    fn find(&mut self, block: &Block, slot: usize) {
        let next = self.blocks.len();
        let at = match self.by_block.get(block) {
            Some(&at) => at,
            // The rest is counted together.
            None if next >= MOST => 0,
            None => {
                self.by_block.insert(*block, next);
                self.blocks.push((*block, 0));
                next
            }
        };
        self.blocks[at].1 += 1;
        self.quick[slot] = at;
    }
}

impl HartSink for Watch<'_> {
    #[inline(always)]
    fn block(&mut self, block: &Block) {
        self.last[self.count as usize % LAST] = *block;
        self.count += 1;
        let slot = (block.start >> 1 ^ block.start >> 12 ^ block.ended as u64) as usize % QUICK;
        let known = &mut self.blocks[self.quick[slot]];
        if known.0 == *block {
            known.1 += 1;
        } else {
            self.find(block, slot);
        }
        if self.count.is_multiple_of(PACE) {
            (self.progress)(self.count);
        }
    }

    fn context(&mut self, context: u64) {
        if self.contexts.len() < MOST {
            self.contexts.insert(context);
        }
    }

    fn trap(&mut self, trap: &Trap) {
        if trap.interrupt {
            self.interrupts += 1;
        } else if matches!(trap.cause, cause::ECALL_U | cause::ECALL_S | cause::ECALL_M) {
            self.calls += 1;
        } else {
            self.exceptions += 1;
        }
    }
}
