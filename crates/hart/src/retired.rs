use tracewright_core::Block;
use tracewright_isa::riscv::len;

use crate::sink::{Access, Privilege, Sink, Trap};

/// An instruction that retired, or a trap: what a line of a simulator's log tells, and what people like to read.
///
/// Machines tell blocks, which is much faster. [`Retirements`] makes this of what a machine tells,
/// [`Blocks`](crate::Blocks) makes blocks of this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    /// Its address. With an exception: of the instruction that did not retire; with an interrupt: of the one that
    /// would have been next.
    pub pc: u64,
    /// Its bits, a compressed one's in the low half. 0 with a trap where they are not told.
    pub bits: u32,
    /// Its length in bytes: 2 or 4; 0 where the bits are not told.
    pub len: u8,
    /// What it ran in, if that is told.
    pub privilege: Option<Privilege>,
    /// Its memory access, if it made one and it is told. `index` is 0.
    pub access: Option<Access>,
    /// With a trap, nothing retired: this is where and why.
    pub trap: Option<Trap>,
    /// When it retired, if that is told.
    pub cycle: Option<u64>,
}

impl Retired {
    /// An instruction of which nothing else is known.
    pub fn new(pc: u64, bits: u32) -> Self {
        Self { pc, bits, len: len(bits as u16), privilege: None, access: None, trap: None, cycle: None }
    }

    /// A trap; what its instruction was is not known.
    pub fn trap(trap: Trap) -> Self {
        Self { pc: trap.pc, bits: 0, len: 0, privilege: None, access: None, trap: Some(trap), cycle: None }
    }
}

/// Makes single instructions of the blocks of a machine, and gives them to a closure.
#[derive(Debug)]
pub struct Retirements<F> {
    take: F,
    privilege: Option<Privilege>,
    // Of the block to come. Kept between blocks, so that nothing is allocated for one.
    bits: Vec<u32>,
    accesses: Vec<Access>,
    cycles: Vec<u64>,
}

impl<F: FnMut(&Retired)> Retirements<F> {
    /// Gives each instruction and each trap to `take`.
    pub fn new(take: F) -> Self {
        Self { take, privilege: None, bits: Vec::new(), accesses: Vec::new(), cycles: Vec::new() }
    }
}

impl<F: FnMut(&Retired)> Sink for Retirements<F> {
    const ACCESSES: bool = true;
    const INSTRUCTIONS: bool = true;
    const CYCLES: bool = true;

    fn block(&mut self, block: &Block) {
        let mut accesses = self.accesses.iter().peekable();
        let mut pc = block.start;
        for (index, &bits) in self.bits.iter().enumerate() {
            let cycle = self.cycles.get(index).copied();
            let mut retired = Retired { privilege: self.privilege, cycle, ..Retired::new(pc, bits) };
            // An instruction has one access at most; should there be more, the last counts.
            while let Some(access) = accesses.next_if(|access| access.index as usize <= index) {
                retired.access = Some(Access { index: 0, ..*access });
            }
            pc = pc.wrapping_add(u64::from(retired.len));
            (self.take)(&retired);
        }
        self.bits.clear();
        self.accesses.clear();
        self.cycles.clear();
    }

    fn access(&mut self, access: &Access) {
        self.accesses.push(*access);
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend_from_slice(bits);
    }

    fn cycles(&mut self, cycles: &[u64]) {
        self.cycles.extend_from_slice(cycles);
    }

    fn trap(&mut self, trap: &Trap) {
        (self.take)(&Retired { privilege: self.privilege, ..Retired::trap(*trap) });
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.privilege = Some(privilege);
    }
}
