//! What takes what the hart tells: sinks that are timed, which look at everything and keep a sum, and one that is not,
//! which says what the sums must be.

use tracewright_core::Block;
use tracewright_hart::{Access, HartSink, Trap};

/// Counts and sums blocks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// System calls included, as in QEMU's log.
    pub instructions: u64,
    sum: u64,
}

/// Counts instructions that retired.
#[derive(Debug, Default)]
pub struct Retired(pub u64);

impl HartSink for Retired {
    fn block(&mut self, block: &Block) {
        self.0 += u64::from(block.count);
    }
}

impl HartSink for Blocks {
    #[inline(always)]
    fn block(&mut self, block: &Block) {
        self.instructions += u64::from(block.count);
        self.sum = self.sum.rotate_left(1) ^ block.start ^ block.end << 1 ^ u64::from(block.ended as u8);
    }

    fn trap(&mut self, trap: &Trap) {
        self.instructions += 1;
        self.sum = self.sum.rotate_left(1) ^ trap.pc;
    }
}

/// Counts and sums blocks, the bits of all instructions, and all accesses with their values.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Details {
    pub blocks: Blocks,
    bits: u64,
    accesses: u64,
    values: u64,
}

impl HartSink for Details {
    const ACCESSES: bool = true;
    const INSTRUCTIONS: bool = true;

    #[inline(always)]
    fn block(&mut self, block: &Block) {
        self.blocks.block(block);
    }

    #[inline(always)]
    fn access(&mut self, access: &Access) {
        self.accesses += 1;
        let small = u64::from(access.index) << 16 | u64::from(access.size) << 8 | access.kind as u64;
        self.values = self.values.rotate_left(1) ^ access.address ^ access.value << 1 ^ small;
    }

    #[inline(always)]
    fn instructions(&mut self, bits: &[u32]) {
        self.bits = bits.iter().fold(self.bits, |sum, &bits| sum.wrapping_add(bits.into()));
    }

    fn trap(&mut self, trap: &Trap) {
        self.blocks.trap(trap);
    }
}

/// The address of each instruction, worked out from the one before and its bits, for comparison with QEMU.
#[derive(Debug, Default)]
pub struct Digest {
    pub counters: Counters,
    /// What the timed sinks must find.
    pub details: Details,
    bits: Vec<u32>,
    /// What cannot be: blocks that are not as their instructions say.
    pub wrong: Option<Block>,
}

impl HartSink for Digest {
    const ACCESSES: bool = true;
    const INSTRUCTIONS: bool = true;

    fn block(&mut self, block: &Block) {
        let mut pc = block.start;
        let count = self.bits.len();
        for bits in self.bits.drain(..) {
            self.counters.add(pc);
            pc += if bits & 3 == 3 { 4 } else { 2 };
        }
        if (pc, count) != (block.end, block.count as usize) {
            self.wrong = Some(*block);
        }
        self.details.block(block);
    }

    fn access(&mut self, access: &Access) {
        self.details.access(access);
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend(bits);
        self.details.instructions(bits);
    }

    fn trap(&mut self, trap: &Trap) {
        self.counters.add(trap.pc);
        self.details.trap(trap);
    }
}

/// Program counters, counted and hashed in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub count: u64,
    pub hash: u64,
}

impl Counters {
    #[inline(always)]
    pub fn add(&mut self, pc: u64) {
        self.count += 1;
        // FNV's step with a word for a byte; the rotation lets high bits reach low ones.
        self.hash = (self.hash ^ pc).wrapping_mul(0x100_0000_01b3).rotate_left(23);
    }
}
