//! Finds instructions of a log that do not follow from the one before.

use tracewright_core::Flow;
use tracewright_isa::riscv::{Xlen, decode};

use super::LineProblem;
use super::commit::address;
use crate::Retired;

/// Addresses that an instruction can lead to. None if it can lead anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follows {
    /// The address after it, unless it always jumps.
    pub next: Option<u64>,
    /// The target of its branch, if it contains one.
    pub target: Option<u64>,
}

/// Compares each instruction with the one before it.
#[derive(Debug)]
pub(super) struct Sequence {
    xlen: Xlen,
    /// Line and address of the last instruction, and where it leads; `None` if what comes next may be anywhere.
    last: Option<(u64, u64, Follows)>,
}

impl Sequence {
    pub fn new(xlen: Xlen) -> Self {
        Self { xlen, last: None }
    }

    /// Takes the next instruction or trap, which is in `line`. Fails if it does not follow from the last one.
    pub fn check(&mut self, line: u64, retired: &Retired) -> Result<(), LineProblem> {
        let last = self.last.take();
        // Traps lead anywhere. Where an interrupt is taken says nothing about the instruction before it.
        let Some(trap) = retired.trap else {
            self.last = self.after(retired).map(|follows| (line, retired.pc, follows));
            return check(last, retired.pc);
        };
        if trap.interrupt { Ok(()) } else { check(last, retired.pc) }
    }

    /// Returns where an instruction leads, unless only its operands tell.
    fn after(&self, retired: &Retired) -> Option<Follows> {
        let instruction = decode(self.xlen, retired.bits);
        let class = instruction.class();
        let next = address(self.xlen, retired.pc.wrapping_add(u64::from(retired.len)));
        let target = address(self.xlen, instruction.target(retired.pc));
        Some(match class.flow {
            Flow::Direct if class.conditional => Follows { next: Some(next), target: Some(target) },
            Flow::Direct => Follows { next: None, target: Some(target) },
            _ if class.is_branch() => return None,
            _ => Follows { next: Some(next), target: None },
        })
    }
}

fn check(last: Option<(u64, u64, Follows)>, found: u64) -> Result<(), LineProblem> {
    match last {
        Some((before, from, expected)) if ![expected.next, expected.target].contains(&Some(found)) => {
            Err(LineProblem::DoesNotFollow { before, from, expected, found })
        }
        _ => Ok(()),
    }
}
