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
    /// Its length in bytes: 2 or 4; 0 where the bits are not told. Without a trap, 0 stands for all
    /// instructions from here to the end of the block: their code is not known.
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
pub struct Retirements<F> {
    take: F,
    code: Option<Code>,
    /// Instructions whose bits were not known.
    unknown: u64,
    privilege: Option<Privilege>,
    // Of the block to come. Kept between blocks, so that nothing is allocated for one.
    bits: Vec<u32>,
    accesses: Vec<Access>,
    cycles: Vec<u64>,
}

/// The bits at an address.
type Code = Box<dyn FnMut(u64) -> Option<u32>>;

impl<F> std::fmt::Debug for Retirements<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retirements").field("unknown", &self.unknown).finish_non_exhaustive()
    }
}

impl<F: FnMut(&Retired)> Retirements<F> {
    /// Gives each instruction and each trap to `take`.
    pub fn new(take: F) -> Self {
        let (bits, accesses, cycles) = (Vec::new(), Vec::new(), Vec::new());
        Self { take, code: None, unknown: 0, privilege: None, bits, accesses, cycles }
    }

    /// Takes instructions from `code`, which tells the bits at an address, where blocks come without: logs may leave them out.
    #[must_use]
    pub fn with_code(mut self, code: impl FnMut(u64) -> Option<u32> + 'static) -> Self {
        self.code = Some(Box::new(code));
        self
    }

    /// Returns how many instructions were not told, because nobody knew their bits.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Takes the bits of a block from the code.
    fn look_up(&mut self, block: &Block) {
        let Some(code) = &mut self.code else { return };
        let mut pc = block.start;
        while self.bits.len() < block.count as usize {
            let Some(bits) = code(pc) else { break };
            let len = len(bits as u16);
            self.bits.push(if len == 2 { bits & 0xffff } else { bits });
            pc = pc.wrapping_add(u64::from(len));
        }
    }
}

impl<F: FnMut(&Retired)> Sink for Retirements<F> {
    const ACCESSES: bool = true;
    const INSTRUCTIONS: bool = true;
    const CYCLES: bool = true;

    fn block(&mut self, block: &Block) {
        if self.bits.is_empty() {
            self.look_up(block);
        }
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
        let unknown = u64::from(block.count).saturating_sub(self.bits.len() as u64);
        if unknown > 0 && self.code.is_some() {
            self.unknown += unknown;
            (self.take)(&Retired { len: 0, privilege: self.privilege, ..Retired::new(pc, 0) });
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
