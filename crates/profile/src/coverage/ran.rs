//! Execution counts of one binary by address.

use tracewright_core::{Ended, Role};
use tracewright_flow::Instructions;
use tracewright_flow::hash::HashMap;

use crate::counts::{Code, Place, Profile, Runs};
use crate::program::Program;

/// Execution counts of a binary.
#[derive(Debug, Default)]
pub struct Ran {
    /// Number of runs of each instruction.
    counts: HashMap<u64, u64>,
    /// Outcomes of each branch.
    runs: HashMap<u64, Runs>,
    /// Jumps to each address that are not calls: source and count.
    jumps: HashMap<u64, Vec<(u64, u64)>>,
    /// Number of instructions executed, including code that can no longer be read.
    pub(super) all: u64,
}

impl Ran {
    /// Returns the counts of all binaries of a profile by number, and the number of instructions outside any binary.
    pub fn of_all(profile: &Profile, programs: &[Program]) -> (Vec<Self>, u64) {
        let has = |binary: u32| programs.iter().find(move |program| program.file(binary).is_some());
        let program: Vec<_> = (0..profile.binaries.len() as u32).map(has).collect();
        let mut all: Vec<_> = profile.binaries.iter().map(|_| Self::default()).collect();
        let mut calls: Vec<HashMap<u64, bool>> =
            profile.binaries.iter().map(|_| HashMap::default()).collect();
        let mut nowhere = 0;
        for (code, runs) in &profile.blocks {
            let number = code.start.binary;
            let executed = u64::from(code.count).saturating_mul(runs.all());
            let Some(of) = all.get_mut(number as usize) else {
                nowhere = executed.saturating_add(nowhere);
                continue;
            };
            of.all = of.all.saturating_add(executed);
            *of.runs.entry(code.last().address).or_default() += *runs;
            calls[number as usize].insert(code.last().address, is_call(code));
            if let Some(program) = program[number as usize] {
                of.count(code, runs.all(), program);
            }
        }
        for (&(from, to), &count) in &profile.branches {
            let binary = to.binary as usize;
            let is_jump = || calls[binary].get(&from.address) == Some(&false);
            if from.binary == to.binary && binary < all.len() && is_jump() {
                all[binary].jumps.entry(to.address).or_default().push((from.address, count));
            }
        }
        (all, nowhere)
    }

    fn count(&mut self, code: &Code, runs: u64, program: &Program) {
        let block = code.block(Ended::Cut);
        let instructions = Instructions::new(program.image(), program.space(code.start.binary), &block);
        // If the code is not what ran, it could continue after the block's end.
        for instruction in instructions.take(code.count as usize) {
            let count = self.counts.entry(instruction.address).or_default();
            *count = count.saturating_add(runs);
        }
    }

    /// Returns how often the instruction at an address ran.
    pub fn at(&self, address: u64) -> u64 {
        self.counts.get(&address).copied().unwrap_or(0)
    }

    /// Returns each instruction that ran and how often, in address order.
    pub fn instructions(&self) -> Vec<(u64, u64)> {
        let mut all: Vec<_> = self.counts.iter().map(|(&address, &count)| (address, count)).collect();
        all.sort_unstable();
        all
    }

    /// Returns the outcomes of the branch at an address.
    pub fn branch(&self, address: u64) -> Runs {
        self.runs.get(&address).copied().unwrap_or_default()
    }

    /// Returns how often a function was entered at its start `place`: by calls or from outside of `within`.
    pub fn entered(&self, place: Place, within: impl Fn(u64) -> bool) -> u64 {
        let jumps = self.jumps.get(&place.address).into_iter().flatten();
        let loops: u64 = jumps.filter(|(from, _)| within(*from)).map(|(_, count)| count).sum();
        self.at(place.address).saturating_sub(loops)
    }
}

fn is_call(code: &Code) -> bool {
    matches!(code.class.role, Role::Call)
}
