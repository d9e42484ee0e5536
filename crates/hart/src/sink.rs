use tracewright_core::{Block, DataAccess};
use tracewright_isa::riscv::{AccessKind, Register};

/// Receives what a machine executes. What a sink does not ask for is not computed.
///
/// The calls for each block come in this order: accesses, registers and instructions as they retire, then their cycles, the block,
/// and the trap that ended it early, if any.
pub trait HartSink {
    /// Set if [`access`](Self::access) is to be called.
    const ACCESSES: bool = false;
    /// Set if [`data`](Self::data) is to be called.
    const DATA: bool = false;
    /// Set if [`register`](Self::register) is to be called. Only machines call it: our own logs do not have registers.
    const REGISTERS: bool = false;
    /// Set if [`instructions`](Self::instructions) is to be called.
    const INSTRUCTIONS: bool = false;
    /// Set if [`cycles`](Self::cycles) is used. Only sources with a timing model call it
    /// ([`Timed`](crate::timing::Timed)).
    const CYCLES: bool = false;

    /// Reports a retired block.
    fn block(&mut self, block: &Block);

    /// Reports a memory access by an instruction of the current block.
    fn access(&mut self, _access: &Access) {}

    /// Reports a memory or CSR access, or an attempt, by the instruction at `pc` of the current block. It has everything that
    /// data trace contains, including operands of atomics and failed store-conditionals. Logs do not have it.
    fn data(&mut self, _pc: u64, _access: &DataAccess) {}

    /// Reports the register that an instruction of the current block wrote. Writes to x0 are not reported.
    fn register(&mut self, _write: &RegisterWrite) {}

    /// Reports the bits of the next instructions of the current block. Those of a compressed one are in the low half.
    fn instructions(&mut self, _bits: &[u32]) {}

    /// Reports the retirement cycle of each instruction of the current block, just before the block.
    fn cycles(&mut self, _cycles: &[u64]) {}

    /// Reports a trap or a system call.
    fn trap(&mut self, _trap: &Trap) {}

    /// Reports a gap: what came before does not lead to what comes next.
    fn lost(&mut self) {}

    /// Reports the privilege from now on. Also called at the start.
    fn privilege(&mut self, _privilege: Privilege) {}

    /// Reports the context from now on: the thread under Linux, the address space (satp's ASID) on a bare machine. Also
    /// called at the start, and after a trap or a change of privilege if the context changed.
    fn context(&mut self, _context: u64) {}

    /// Reports code that is in no program file, such as a boot ROM. Only readers of our own logs call it, before the first block.
    fn code(&mut self, _address: u64, _bytes: &[u8]) {}

    /// Reports the offset in the log of the record that the next calls come from. Only readers of our own logs call it.
    #[inline(always)]
    fn offset(&mut self, _offset: u64) {}

    /// Called about once in a million instructions, between blocks or within one. A sink that buffers output may write
    /// it here, so that little is lost if the process is killed.
    fn checkpoint(&mut self) {}
}

/// Defines functions of a [`HartSink`] that call those of another one.
macro_rules! forward {
    ($self:ident, $inner:expr; $($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[inline(always)]
        fn $name(&mut $self, $($argument: $type),*) {
            $inner.$name($($argument),*);
        }
    )*};
}

pub(crate) use forward;

/// Forwards everything.
impl<S: HartSink> HartSink for &mut S {
    const ACCESSES: bool = S::ACCESSES;
    const DATA: bool = S::DATA;
    const REGISTERS: bool = S::REGISTERS;
    const INSTRUCTIONS: bool = S::INSTRUCTIONS;
    const CYCLES: bool = S::CYCLES;

    forward! { self, (**self);
        block(block: &Block);
        access(access: &Access);
        data(pc: u64, access: &DataAccess);
        register(write: &RegisterWrite);
        instructions(bits: &[u32]);
        cycles(cycles: &[u64]);
        trap(trap: &Trap);
        lost();
        privilege(privilege: Privilege);
        context(context: u64);
        code(address: u64, bytes: &[u8]);
        checkpoint();
        offset(offset: u64);
    }
}

/// Memory access of a retired instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Index of the instruction in its block, from 0.
    pub index: u32,
    /// Kind of access.
    pub kind: AccessKind,
    /// Size in bytes.
    pub size: u8,
    /// Address.
    pub address: u64,
    /// Value loaded (also by an atomic operation) or stored, not sign-extended.
    pub value: u64,
}

/// Register that a retired instruction wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterWrite {
    /// Index of the instruction in its block, from 0.
    pub index: u32,
    /// The register.
    pub register: Register,
    /// Its new value. That of an integer register of RV32 is not sign-extended; a single is NaN-boxed.
    pub value: u64,
}

/// A trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// Address of the instruction that did not retire (exception), or of the one that would have been next (interrupt).
    pub pc: u64,
    /// Number of the exception or interrupt (mcause without its highest bit).
    pub cause: u64,
    /// Set for an interrupt.
    pub interrupt: bool,
    /// Value of mtval.
    pub value: u64,
    /// Next address: the trap handler or, after a system call handled by the machine, the next instruction.
    pub next: u64,
    /// Set if the machine itself handled it: execution continues in the same privilege without a handler.
    pub served: bool,
}

/// Privilege mode. A hart starts in M mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Privilege {
    /// U mode.
    User = 0,
    /// S mode.
    Supervisor = 1,
    /// M mode.
    #[default]
    Machine = 3,
}

impl Privilege {
    /// Returns the mode with this encoding; 2 is reserved.
    pub const fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            0 => Some(Self::User),
            1 => Some(Self::Supervisor),
            3 => Some(Self::Machine),
            _ => None,
        }
    }
}

impl HartSink for () {
    fn block(&mut self, _: &Block) {}
}
