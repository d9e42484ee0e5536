use tracewright_core::{Block, DataAccess};

use super::Model;
use crate::sink::forward;
use crate::{Access, HartSink, Privilege, RegisterWrite, Trap};

/// Passes everything on to another sink, and reports to it the cycle of each instruction ([`HartSink::cycles`]) before each
/// block.
#[derive(Clone, Debug)]
pub struct Timed<S> {
    /// The other sink.
    pub inner: S,
    /// The timing model.
    pub model: Model,
    // Reports for the current block. Buffers grow to the longest block; nothing is allocated after that.
    bits: Vec<u32>,
    accesses: Vec<Access>,
    cycles: Vec<u64>,
}

impl<S> Timed<S> {
    /// Creates a sink that times with `model` what goes to `inner`.
    pub const fn new(model: Model, inner: S) -> Self {
        Self { inner, model, bits: Vec::new(), accesses: Vec::new(), cycles: Vec::new() }
    }
}

impl<S: HartSink> HartSink for Timed<S> {
    const ACCESSES: bool = true;
    const DATA: bool = S::DATA;
    const REGISTERS: bool = S::REGISTERS;
    const INSTRUCTIONS: bool = true;
    const CYCLES: bool = S::CYCLES;

    fn block(&mut self, block: &Block) {
        self.cycles.clear();
        self.model.block(block, &self.bits, &self.accesses, &mut self.cycles);
        self.bits.clear();
        self.accesses.clear();
        if S::CYCLES {
            self.inner.cycles(&self.cycles);
        }
        self.inner.block(block);
    }

    fn access(&mut self, access: &Access) {
        self.accesses.push(*access);
        if S::ACCESSES {
            self.inner.access(access);
        }
    }

    fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend_from_slice(bits);
        if S::INSTRUCTIONS {
            self.inner.instructions(bits);
        }
    }

    fn trap(&mut self, trap: &Trap) {
        // A block comes before the trap that ends it, so what is left belongs to nothing that retired.
        self.bits.clear();
        self.accesses.clear();
        self.model.trap(trap);
        self.inner.trap(trap);
    }

    forward! { self, self.inner;
        data(pc: u64, access: &DataAccess);
        register(write: &RegisterWrite);
        lost();
        privilege(privilege: Privilege);
        context(context: u64);
        checkpoint();
    }
}
