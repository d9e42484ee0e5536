//! Random RISC-V programs that do nothing but branch, and a machine that "runs" them by drawing lots at every branch.
//!
//! Functions of straight code, branches, jumps, calls and returns of every kind, loops, recursion, jump tables, co-routine
//! swaps, jumps whose address the instruction before tells; handlers that traps lead to. [`Walk`] goes through it: conditions and
//! indirect targets are random, returns nearly always go where the call was, and traps come anywhere: after a jump before its
//! target has run, at the first instruction of a handler. What it gives are the [`Event`]s that a hart would tell.
//!
//! ```
//! use tracewright_testkit::{Rng, riscv::walk::{Event, Program, Walk}};
//!
//! let program = Program::generate(&mut Rng::new(1));
//! let mut instructions = 0;
//! Walk::new(&program, Rng::new(2)).run(10_000, &mut |event| {
//!     if let Event::Block(block) = event {
//!         instructions += block.count;
//!     }
//! });
//! assert!(instructions >= 9_000);
//! ```

mod build;
mod execute;

use tracewright_core::{Block, Isa};

pub use execute::{Happenings, Walk};

/// A program: its code, and what its branches can do.
#[derive(Clone, Debug)]
pub struct Program {
    /// RV32 or RV64.
    pub isa: Isa,
    /// Where it lies.
    pub address: u64,
    /// What lies there.
    pub bytes: Vec<u8>,
    ops: Vec<Op>,
    /// The address of each.
    addresses: Vec<u64>,
    /// The first of each function; the last one calls nothing and traps nowhere.
    functions: Vec<usize>,
    /// The first of each trap handler.
    handlers: Vec<usize>,
}

/// What a machine tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Instructions retired.
    Block(Block),
    /// A trap was taken.
    Trap(Trap),
    /// From now on this is the privilege.
    Privilege(u8),
    /// From now on this is the context.
    Context {
        /// Its number.
        id: u32,
        /// Whether execution went on somewhere else with it.
        elsewhere: bool,
    },
}

/// A trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// The instruction that did not retire.
    pub pc: u64,
    /// Its cause.
    pub cause: u64,
    /// Whether it is an interrupt.
    pub interrupt: bool,
    /// Its value; 0 for interrupts.
    pub value: u64,
    /// Where execution goes on.
    pub next: u64,
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Op {
    kind: Kind,
    /// 2 or 4 bytes.
    len: u8,
    /// A register, where it has a choice.
    register: u8,
}

/// What an instruction does. Numbers are those of other instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    /// A conditional branch. One that guards a call is taken when calls are deep.
    Branch {
        to: usize,
        guards: bool,
    },
    /// A jump forwards, its link in `register` (which is no link register).
    Jump {
        to: usize,
    },
    /// A call, its link in `register`.
    Call {
        to: usize,
    },
    /// The first half of a pair that leads to `to`: AUIPC, or LUI.
    PairFirst {
        to: usize,
        is_lui: bool,
    },
    /// The second one; its link in `link`.
    PairSecond {
        to: usize,
        link: u8,
    },
    /// A jump to any instruction of its function, `first` to `last`.
    JumpTable {
        first: usize,
        last: usize,
    },
    /// A call to any function.
    CallRegister,
    /// A return through `register`.
    Return,
    /// A return and a call at once.
    Swap,
    /// Always traps.
    Ecall,
    Ebreak,
    /// Returns from a trap: MRET, or SRET.
    TrapReturn {
        is_sret: bool,
    },
}

impl Program {
    /// Where the trap handler of a privilege is, where each has one.
    pub fn handler(&self, privilege: u8) -> u64 {
        self.addresses[self.handler_of(privilege)]
    }

    fn handler_of(&self, privilege: u8) -> usize {
        self.handlers[usize::from(privilege) % self.handlers.len()]
    }

    /// Address after the instruction.
    fn end(&self, op: usize) -> u64 {
        self.mask(self.addresses[op].wrapping_add(self.ops[op].len.into()))
    }

    fn mask(&self, address: u64) -> u64 {
        if self.isa == Isa::Rv32 { address & 0xffff_ffff } else { address }
    }
}
