use tracewright_core::Block;
use tracewright_isa::riscv::len;

use crate::sink::{Access, HartSink, Privilege, RegisterWrite, Trap};

/// A retired instruction or a trap, as a line of a simulator's log describes it.
///
/// Machines emit blocks, which is much faster. [`Retirements`] converts blocks to this, [`Blocks`](crate::Blocks) converts back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    /// Address. For an exception, that of the instruction that did not retire; for an interrupt, that of the next instruction.
    pub pc: u64,
    /// Bits; those of a compressed instruction are in the low half. 0 for a trap without bits.
    pub bits: u32,
    /// Length in bytes: 2 or 4; 0 for a trap without bits. Without a trap, 0 stands for all instructions from here to
    /// the end of the block, whose code is not known.
    pub len: u8,
    /// Privilege, if known.
    pub privilege: Option<Privilege>,
    /// Memory access, if there was one and it is known. Its `index` is 0.
    pub access: Option<Access>,
    /// Register that it wrote, if there is one and it is known. Its `index` is 0.
    pub register: Option<RegisterWrite>,
    /// Trap. If there is one, nothing retired.
    pub trap: Option<Trap>,
    /// Cycle of retirement, if known.
    pub cycle: Option<u64>,
}

impl Retired {
    /// Creates an instruction without further information.
    pub fn new(pc: u64, bits: u32) -> Self {
        let (privilege, access, register, trap, cycle) = (None, None, None, None, None);
        Self { pc, bits, len: len(bits as u16), privilege, access, register, trap, cycle }
    }

    /// Creates a trap without the instruction's bits.
    pub fn trap(trap: Trap) -> Self {
        Self { len: 0, trap: Some(trap), ..Self::new(trap.pc, 0) }
    }
}

/// Converts the blocks of a machine to single instructions, which are passed to a closure.
pub struct Retirements<F> {
    take: F,
    code: Option<Code>,
    /// Number of instructions whose bits were not known.
    unknown: u64,
    privilege: Option<Privilege>,
    // Data of the current block, kept to avoid allocations.
    bits: Vec<u32>,
    accesses: Vec<Access>,
    registers: Vec<RegisterWrite>,
    cycles: Vec<u64>,
}

/// Returns the bits at an address.
type Code = Box<dyn FnMut(u64) -> Option<u32>>;

impl<F> std::fmt::Debug for Retirements<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retirements").field("unknown", &self.unknown).finish_non_exhaustive()
    }
}

impl<F: FnMut(&Retired)> Retirements<F> {
    /// Creates a converter that passes each instruction and trap to `take`.
    pub fn new(take: F) -> Self {
        let (bits, accesses, registers, cycles) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { take, code: None, unknown: 0, privilege: None, bits, accesses, registers, cycles }
    }

    /// Sets `code`, which returns the bits at an address, for blocks without bits: logs may leave them out.
    #[must_use]
    pub fn with_code(mut self, code: impl FnMut(u64) -> Option<u32> + 'static) -> Self {
        self.code = Some(Box::new(code));
        self
    }

    /// Returns how many instructions were not reported because their bits are not known.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Sets the bits of a block from `code`.
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

impl<F: FnMut(&Retired)> HartSink for Retirements<F> {
    const ACCESSES: bool = true;
    const REGISTERS: bool = true;
    const INSTRUCTIONS: bool = true;
    const CYCLES: bool = true;

    fn block(&mut self, block: &Block) {
        if self.bits.is_empty() {
            self.look_up(block);
        }
        let mut accesses = self.accesses.iter().peekable();
        let mut registers = self.registers.iter().peekable();
        let mut pc = block.start;
        for (index, &bits) in self.bits.iter().enumerate() {
            let cycle = self.cycles.get(index).copied();
            let mut retired = Retired { privilege: self.privilege, cycle, ..Retired::new(pc, bits) };
            // An instruction has at most one access; if there are more, the last counts.
            while let Some(access) = accesses.next_if(|access| access.index as usize <= index) {
                retired.access = Some(Access { index: 0, ..*access });
            }
            while let Some(write) = registers.next_if(|write| write.index as usize <= index) {
                retired.register = Some(RegisterWrite { index: 0, ..*write });
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
        self.registers.clear();
        self.cycles.clear();
    }

    fn access(&mut self, access: &Access) {
        self.accesses.push(*access);
    }

    fn register(&mut self, write: &RegisterWrite) {
        self.registers.push(*write);
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
