use tracewright_core::{Block, DataAccess};
use tracewright_isa::riscv::AccessKind;

/// What takes what a machine executes. What it does not ask for is not computed.
///
/// For each block, in this order: its accesses and instructions as they come, then their cycles, the block, and the
/// trap that cut it short, if one did.
pub trait Sink {
    /// Whether [`access`](Self::access) is to be called.
    const ACCESSES: bool = false;
    /// Whether [`data`](Self::data) is to be called.
    const DATA: bool = false;
    /// Whether [`instructions`](Self::instructions) is to be called.
    const INSTRUCTIONS: bool = false;
    /// Whether [`cycles`](Self::cycles) is of use. Only what times instructions calls it
    /// ([`Timed`](crate::timing::Timed)).
    const CYCLES: bool = false;

    /// A block retired.
    fn block(&mut self, block: &Block);

    /// An instruction of the block to come accessed memory.
    fn access(&mut self, _access: &Access) {}

    /// The instruction at `pc`, of the block to come, accessed memory or a CSR, or tried to: with all that data trace tells,
    /// operands of atomics and failed store-conditionals among it. Logs do not have it.
    fn data(&mut self, _pc: u64, _access: &DataAccess) {}

    /// The next instructions of the block to come; a compressed one in the low half.
    fn instructions(&mut self, _bits: &[u32]) {}

    /// The cycle in which each instruction of the block to come retired, told just before the block.
    fn cycles(&mut self, _cycles: &[u64]) {}

    /// A trap was taken, or a system call made.
    fn trap(&mut self, _trap: &Trap) {}

    /// What ran before does not lead to what comes next: something between is not known.
    fn lost(&mut self) {}

    /// From now on this is the privilege. Also told at the start.
    fn privilege(&mut self, _privilege: Privilege) {}

    /// From now on this is the context: the thread under Linux, the address space (satp's ASID) on a bare machine. Also told at the
    /// start; told again after a trap or a change of privilege if it is another then.
    fn context(&mut self, _context: u64) {}

    /// Called by a hart about once in a million instructions, between blocks or within one. Who gathers what it writes may write it:
    /// if the process is killed, the rest is lost.
    fn checkpoint(&mut self) {}
}

/// Hands on everything.
impl<S: Sink> Sink for &mut S {
    const ACCESSES: bool = S::ACCESSES;
    const DATA: bool = S::DATA;
    const INSTRUCTIONS: bool = S::INSTRUCTIONS;
    const CYCLES: bool = S::CYCLES;

    #[inline(always)]
    fn block(&mut self, block: &Block) {
        (**self).block(block);
    }

    #[inline(always)]
    fn access(&mut self, access: &Access) {
        (**self).access(access);
    }

    #[inline(always)]
    fn data(&mut self, pc: u64, access: &DataAccess) {
        (**self).data(pc, access);
    }

    #[inline(always)]
    fn instructions(&mut self, bits: &[u32]) {
        (**self).instructions(bits);
    }

    #[inline(always)]
    fn cycles(&mut self, cycles: &[u64]) {
        (**self).cycles(cycles);
    }

    fn trap(&mut self, trap: &Trap) {
        (**self).trap(trap);
    }

    fn lost(&mut self) {
        (**self).lost();
    }

    fn privilege(&mut self, privilege: Privilege) {
        (**self).privilege(privilege);
    }

    fn context(&mut self, context: u64) {
        (**self).context(context);
    }

    fn checkpoint(&mut self) {
        (**self).checkpoint();
    }
}

/// A memory access of an instruction that retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Which instruction of its block, counted from 0.
    pub index: u32,
    /// What kind.
    pub kind: AccessKind,
    /// Bytes.
    pub size: u8,
    /// Where.
    pub address: u64,
    /// What was loaded (also by an atomic operation), or stored. Not sign-extended.
    pub value: u64,
}

/// A trap: the program's flow was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// Where: the instruction that did not retire because of it (an exception), or the one that would have been next (an
    /// interrupt).
    pub pc: u64,
    /// The number of the exception or interrupt (mcause without its highest bit).
    pub cause: u64,
    /// Whether it is an interrupt.
    pub interrupt: bool,
    /// mtval.
    pub value: u64,
    /// Where execution went on: the trap handler, or, after a system call that the machine itself served, the next instruction.
    pub next: u64,
    /// Whether the machine itself served it: execution goes on in the same privilege, no handler runs.
    pub served: bool,
}

/// How much a program may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Privilege {
    /// U mode.
    User = 0,
    /// S mode.
    Supervisor = 1,
    /// M mode.
    Machine = 3,
}

impl Privilege {
    /// The one that the specification gives this number; 2 is reserved.
    pub const fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            0 => Some(Self::User),
            1 => Some(Self::Supervisor),
            3 => Some(Self::Machine),
            _ => None,
        }
    }
}

impl Sink for () {
    fn block(&mut self, _: &Block) {}
}
