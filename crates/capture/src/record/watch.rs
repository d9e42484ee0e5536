use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use tracewright_core::{Block, Class, DataAccess, Ended, Isa};
use tracewright_hart::{Access, HartSink, Privilege, Trap, cause};

use crate::sink::TraceSink;

/// Progress of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Instructions executed so far.
    pub instructions: u64,
    /// Bytes of trace so far, as of about the last million instructions. 0 if a log is read.
    pub bytes: u64,
}

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
    /// Number of instructions executed.
    pub instructions: u64,
    /// Bytes of trace, which a [`Measured`] sink sets.
    bytes: Rc<Cell<u64>>,
    pub calls: u64,
    pub exceptions: u64,
    pub interrupts: u64,
    /// Threads or address spaces.
    pub contexts: HashSet<u64>,
    progress: &'a mut dyn FnMut(Progress),
}

/// Number of blocks that are remembered.
const LAST: usize = 16;
const QUICK: usize = 1 << 12;
/// Blocks from one call of `progress` to the next.
const PACE: u64 = 1 << 20;
/// Most distinct blocks that are counted: bounds memory.
const MOST: usize = 1 << 21;

impl<'a> Watch<'a> {
    /// Returns whether nothing was executed, and no trap was taken.
    pub fn is_empty(&self) -> bool {
        self.instructions == 0 && self.calls == 0 && self.exceptions == 0 && self.interrupts == 0
    }

    /// Creates a sink that calls `progress` now and then.
    pub fn new(progress: &'a mut dyn FnMut(Progress)) -> Self {
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
            instructions: 0,
            bytes: Rc::default(),
            calls: 0,
            exceptions: 0,
            interrupts: 0,
            contexts: HashSet::new(),
            progress,
        }
    }

    /// Returns a sink that passes everything on to `sink`, and tells this one how many bytes of trace that has made.
    pub fn measure<'s, S>(&self, sink: &'s mut S) -> Measured<'s, S> {
        Measured { inner: sink, bytes: Rc::clone(&self.bytes) }
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
        self.instructions += u64::from(block.count);
        let slot = (block.start >> 1 ^ block.start >> 12 ^ block.ended as u64) as usize % QUICK;
        let known = &mut self.blocks[self.quick[slot]];
        if known.0 == *block {
            known.1 += 1;
        } else {
            self.find(block, slot);
        }
        if self.count.is_multiple_of(PACE) {
            (self.progress)(Progress { instructions: self.instructions, bytes: self.bytes.get() });
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

/// A sink that passes everything on to another, and tells a [`Watch`] how many bytes of trace that has made.
pub struct Measured<'a, S> {
    inner: &'a mut S,
    bytes: Rc<Cell<u64>>,
}

impl<S: TraceSink> TraceSink for Measured<'_, S> {
    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }
}

/// Passes a call on.
macro_rules! pass_on {
    ($($call:ident($($name:ident: $type:ty),*);)*) => {$(
        #[inline(always)]
        fn $call(&mut self, $($name: $type),*) {
            self.inner.$call($($name),*);
        }
    )*};
}

impl<S: TraceSink> HartSink for Measured<'_, S> {
    const ACCESSES: bool = S::ACCESSES;
    const DATA: bool = S::DATA;
    const INSTRUCTIONS: bool = S::INSTRUCTIONS;
    const CYCLES: bool = S::CYCLES;

    pass_on! {
        block(block: &Block);
        access(access: &Access);
        data(pc: u64, access: &DataAccess);
        instructions(bits: &[u32]);
        cycles(cycles: &[u64]);
        trap(trap: &Trap);
        lost();
        privilege(privilege: Privilege);
        context(context: u64);
    }

    fn checkpoint(&mut self) {
        self.inner.checkpoint();
        self.bytes.set(self.inner.bytes());
    }
}
