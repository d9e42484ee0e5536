//! Executed address ranges and taken branches of one binary, which several formats contain.

use std::collections::BTreeMap;

use tracewright_core::{Class, Flow};
use tracewright_flow::hash::{HashMap, HashSet};
use tracewright_image::{CodeSegment, FileRef};

use crate::counts::{Code, Place, Profile};
use crate::program::Program;

/// Executed ranges and taken branches of one binary, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// Number of runs of each range, keyed by its first and last instruction. A range ends at a branch, taken or not,
    /// or at an interruption.
    pub ranges: BTreeMap<(u64, u64), u64>,
    /// Number of times each branch went to each target. The target is 0 if it is unknown or in another binary.
    pub branches: BTreeMap<(u64, u64), u64>,
}

/// Branches whose targets are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// All branches with known targets.
    Known,
    /// Direct branches only, as simpleperf does. Returns, indirect calls and indirect jumps get the target 0.
    Direct,
}

impl Ranges {
    /// Collects the ranges of one binary.
    pub fn of(profile: &Profile, program: &Program, number: u32, targets: Targets) -> Self {
        let mut all = Self::default();
        // By branch address: the taken count less the known targets, and a block that ends with the branch.
        let mut taken: HashMap<u64, (u64, Code)> = HashMap::default();
        for (code, runs) in profile.blocks.iter().filter(|(code, _)| code.start.binary == number) {
            let last = code.last().address;
            *all.ranges.entry((code.start.address, last)).or_default() += runs.all();
            if runs.taken > 0 {
                taken.entry(last).or_insert((0, *code)).0 += runs.taken;
            }
        }
        for (&(from, to), &count) in profile.branches.iter().filter(|((from, _), _)| from.binary == number) {
            let Some((left, code)) = taken.get_mut(&from.address) else { continue };
            let is_told = targets == Targets::Known || code.class.flow != Flow::Indirect;
            if is_told {
                *left = left.saturating_sub(count);
                let to = if to.binary == number { to.address } else { 0 };
                *all.branches.entry((from.address, to)).or_default() += count;
            }
        }
        for (from, (left, code)) in taken {
            if left > 0 {
                let to = program.target(&code).unwrap_or(0);
                *all.branches.entry((from, to)).or_default() += left;
            }
        }
        all
    }
}

/// Returns the executable segments of a binary: those in the profile or, for profiles of older versions, those of the
/// file if it is available.
pub(super) fn code_segments(profile: &Profile, program: &Program, number: u32) -> Vec<CodeSegment> {
    let known = profile.binaries.get(number as usize).map(|binary| binary.code.clone()).unwrap_or_default();
    if known.is_empty() {
        return program.file(number).iter().flat_map(FileRef::code_segments).collect();
    }
    known
}

/// Returns all functions of which code ran, each as one block.
pub(super) fn functions(profile: &Profile, program: &Program) -> HashSet<Code> {
    let ran = profile.blocks.iter().filter(|(_, runs)| runs.all() > 0);
    ran.filter_map(|(code, _)| whole(program, code)).collect()
}

/// Returns the function of a block as one block.
pub(super) fn whole(program: &Program, code: &Code) -> Option<Code> {
    let symbol = program.symbol(code.start)?;
    let len = u32::try_from(symbol.size).ok()?;
    let start = Place { address: symbol.start, ..code.start };
    Some(Code { start, len, count: 0, isa: code.isa, last_len: 0, class: Class::NEXT })
}

/// Returns the ELF binary of which a profile of one is most likely wanted: the program that executed most instructions.
/// A shared library, such as the dynamic loader, is taken only if no program ran.
pub fn largest(profile: &Profile) -> Option<u32> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for (code, runs) in &profile.blocks {
        *counts.entry(code.start.binary).or_default() += u64::from(code.count) * runs.all();
    }
    let is_elf = |number: &u32| profile.binaries.get(*number as usize).is_some_and(|binary| binary.is_elf);
    counts
        .into_iter()
        .filter(|(number, _)| is_elf(number))
        .max_by_key(|&(number, count)| (!profile.binaries[number as usize].is_library(), count, !number))
        .map(|(number, _)| number)
}

/// Returns the part of a profile that belongs to one binary.
pub fn only(profile: &Profile, number: u32) -> Profile {
    let is_in = |place: Place| place.binary == number;
    let mut of = Profile { binaries: profile.binaries.clone(), funnel: profile.funnel, ..Profile::default() };
    of.blocks = profile
        .blocks
        .iter()
        .filter(|(code, _)| is_in(code.start))
        .map(|(code, runs)| (*code, *runs))
        .collect();
    let branches = profile.branches.iter().filter(|((from, to), _)| is_in(*from) || is_in(*to));
    of.branches = branches.map(|(edge, count)| (*edge, *count)).collect();
    of
}
