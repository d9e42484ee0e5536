//! Random RISC-V programs that do nothing but branch, and an executor that decides every branch at random.
//!
//! Programs have functions of straight code, branches, jumps, calls and returns of every kind, loops, recursion, jump tables,
//! coroutine swaps, jumps whose address the previous instruction determines, and trap handlers. [`Walk`] goes through them:
//! conditions and indirect targets are random, returns nearly always go where the call was, and traps come anywhere: after a jump
//! before its target has run, at the first instruction of a handler. It emits the [`Event`]s that a hart would report.

mod build;
mod execute;

use tracewright_core::{Block, Isa};

pub use execute::{Happenings, Walk};

/// A program: its code, and the behaviour of its branches.
#[derive(Clone, Debug)]
pub struct Program {
    /// RV32 or RV64.
    pub isa: Isa,
    /// Address.
    pub address: u64,
    /// Contents.
    pub bytes: Vec<u8>,
    ops: Vec<Op>,
    /// Address of each instruction.
    addresses: Vec<u64>,
    /// First instruction of each function. The last function calls nothing and does not trap.
    functions: Vec<usize>,
    /// First instruction of each trap handler.
    handlers: Vec<usize>,
}

/// A report of the executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A retired block.
    Block(Block),
    /// A trap.
    Trap(Trap),
    /// Privilege from now on.
    Privilege(u8),
    /// Context from now on.
    Context {
        /// Number.
        id: u32,
        /// Set if execution continued elsewhere.
        elsewhere: bool,
    },
}

/// A trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// Address of the instruction that did not retire.
    pub pc: u64,
    /// Cause.
    pub cause: u64,
    /// Set for an interrupt.
    pub interrupt: bool,
    /// Value; 0 for interrupts.
    pub value: u64,
    /// Next address.
    pub next: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Op {
    kind: Kind,
    /// Length: 2 or 4 bytes.
    len: u8,
    /// A register, if there is a choice.
    register: u8,
}

/// Kind of instruction. Numbers are instruction numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Continues with the next.
    Plain,
    /// A conditional branch. One that guards a call is taken when calls are deep.
    Branch { to: usize, guards: bool },
    /// A forward jump with its link in `register` (which is no link register).
    Jump { to: usize },
    /// A call with its link in `register`.
    Call { to: usize },
    /// The first half of a pair that leads to `to`: AUIPC, or LUI.
    PairFirst { to: usize, is_lui: bool },
    /// The second half, with its link in `link`.
    PairSecond { to: usize, link: u8 },
    /// A jump to any instruction of its function, `first` to `last`.
    JumpTable { first: usize, last: usize },
    /// A call to any function.
    CallRegister,
    /// A return through `register`.
    Return,
    /// A return and a call at once.
    Swap,
    /// Always traps.
    Ecall,
    /// Always traps too.
    Ebreak,
    /// Returns from a trap: MRET, or SRET.
    TrapReturn { is_sret: bool },
}

impl Program {
    /// Returns the trap handler of a privilege, if each has one.
    pub fn handler(&self, privilege: u8) -> u64 {
        self.addresses[self.handler_of(privilege)]
    }

    fn handler_of(&self, privilege: u8) -> usize {
        self.handlers[usize::from(privilege) % self.handlers.len()]
    }

    fn end(&self, op: usize) -> u64 {
        self.mask(self.addresses[op].wrapping_add(self.ops[op].len.into()))
    }

    fn mask(&self, address: u64) -> u64 {
        if self.isa == Isa::Rv32 { address & 0xffff_ffff } else { address }
    }
}
