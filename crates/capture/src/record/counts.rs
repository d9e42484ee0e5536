//! Counts of executed instructions by kind.

use std::collections::HashSet;

use tracewright_core::{Class, Ended, Flow, Role};
use tracewright_isa::riscv::{AccessKind, Instruction, Op, Xlen, decode};

use super::watch::Watch;

/// Counts of executed instructions by kind.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Instructions.
    pub instructions: u64,
    /// Blocks.
    pub blocks: u64,
    /// Conditional branches.
    pub branches: u64,
    /// Conditional branches that were taken.
    pub taken: u64,
    /// Jumps that are neither calls nor returns.
    pub jumps: u64,
    /// Calls.
    pub calls: u64,
    /// Returns.
    pub returns: u64,
    /// Jumps, calls and returns whose target is not in the instruction.
    pub indirect: u64,
    /// Loads.
    pub loads: u64,
    /// Bytes that were loaded.
    pub loaded: u64,
    /// Stores.
    pub stores: u64,
    /// Bytes that were stored.
    pub stored: u64,
    /// Atomic operations.
    pub atomics: u64,
    /// Floating-point operations.
    pub floats: u64,
    /// Multiplications and divisions.
    pub multiplies: u64,
    /// Instructions of two bytes.
    pub compressed: u64,
    /// Bytes of code that were executed at least once.
    pub code: u64,
    /// System calls.
    pub system_calls: u64,
    /// Exceptions other than system calls.
    pub exceptions: u64,
    /// Interrupts.
    pub interrupts: u64,
    /// Threads, or address spaces.
    pub contexts: usize,
    /// Instructions whose code is not known. Only those that end blocks are among the counts by kind.
    pub unknown: u64,
}

impl Counts {
    /// Adds up the blocks that were executed. `code` returns the bits at an address.
    pub(super) fn new(
        instructions: u64,
        watch: &Watch<'_>,
        xlen: Xlen,
        mut code: impl FnMut(u64) -> Option<u32>,
    ) -> Self {
        let mut all = Self {
            instructions,
            blocks: watch.count,
            system_calls: watch.calls,
            exceptions: watch.exceptions,
            interrupts: watch.interrupts,
            contexts: watch.contexts.len(),
            ..Self::default()
        };
        let mut seen = HashSet::new();
        for &(block, count) in &watch.blocks {
            let mut pc = block.start;
            for index in 0..block.count {
                let Some(bits) = code(pc) else {
                    all.unknown += u64::from(block.count - index) * count;
                    all.add_class(block.class, count);
                    break;
                };
                let instruction = decode(xlen, bits);
                all.add(&instruction, count);
                if seen.insert(pc) {
                    all.code += u64::from(instruction.len);
                }
                pc = pc.wrapping_add(instruction.len.into());
            }
            if block.class.conditional && block.ended == Ended::Taken {
                all.taken += count;
            }
        }
        all
    }

    fn add_class(&mut self, class: Class, count: u64) {
        let flow = if class.flow == Flow::Pair { Flow::Indirect } else { class.flow };
        match (flow, class.role) {
            (Flow::Direct, _) if class.conditional => self.branches += count,
            (Flow::Direct | Flow::Indirect, Role::Call | Role::Swap) => self.calls += count,
            (Flow::Indirect, Role::Return) => self.returns += count,
            (Flow::Direct | Flow::Indirect, _) => self.jumps += count,
            _ => {}
        }
        if flow == Flow::Indirect {
            self.indirect += count;
        }
    }

    fn add(&mut self, instruction: &Instruction, count: u64) {
        self.add_class(instruction.class(), count);
        match instruction.access() {
            Some((AccessKind::Load, size)) => {
                self.loads += count;
                self.loaded += count * u64::from(size);
            }
            Some((AccessKind::Store, size)) => {
                self.stores += count;
                self.stored += count * u64::from(size);
            }
            Some((AccessKind::Amo, _)) => self.atomics += count,
            None => {}
        }
        let op = instruction.op as u8;
        if (Op::Flw as u8..=Op::FmvDX as u8).contains(&op) && instruction.access().is_none() {
            self.floats += count;
        }
        if (Op::Mul as u8..=Op::Remuw as u8).contains(&op) {
            self.multiplies += count;
        }
        if instruction.len == 2 {
            self.compressed += count;
        }
    }
}
