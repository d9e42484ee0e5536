//! Random A64 programs, and an executor that decides every branch at random.
//!
//! A program has a user part and a kernel part. Functions are nests of straight code, branches, loops, calls and jump
//! tables; the kernel part begins with exception vectors. [`Executor`] walks through it: conditions and indirect
//! targets are random, returns nearly always go where the call was, calls go deep but not too deep, and exceptions
//! happen. It emits the [`Element`](tracewright_core::Element)s that a decoder of a perfect trace would return.

mod build;
mod execute;
mod op;

pub use build::{generate, generate_computing};
pub use execute::{Executor, Happenings};
use op::Op;

/// A program: its code, and the behaviour of its branches.
#[derive(Clone, Debug)]
pub struct Program {
    /// Memory contents: the user part and the kernel part.
    pub segments: [Segment; 2],
    /// Instructions of both parts; those from `kernel` on are the kernel's.
    ops: Vec<Op>,
    /// For each instruction, the next one that ends a block, possibly itself.
    ends: Vec<u32>,
    kernel: u32,
    /// Targets of indirect branches.
    choices: Vec<u32>,
}

/// A piece of memory.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Address.
    pub address: u64,
    /// Contents.
    pub bytes: Vec<u8>,
}

impl Program {
    /// Returns the entry address.
    pub fn entry(&self) -> u64 {
        self.segments[0].address
    }

    /// Returns the number of instructions.
    pub fn instructions(&self) -> usize {
        self.ops.len()
    }

    fn address(&self, index: u32) -> u64 {
        if index < self.kernel {
            self.segments[0].address + 4 * u64::from(index)
        } else {
            self.segments[1].address + 4 * u64::from(index - self.kernel)
        }
    }
}
