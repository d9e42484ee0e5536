//! Input of `perf2bolt -pa` (LLVM's BOLT): `F` executed ranges and `B` taken branches of one binary.

use std::fmt::Write;

use super::autofdo::comment;
use super::ranges::{Ranges, Targets};
use crate::counts::Profile;
use crate::program::Program;

/// Writes one binary. Branches that leave or enter it have 0 on the other side.
pub fn write(profile: &Profile, program: &Program, number: u32) -> String {
    let mut all = Ranges::of(profile, program, number, Targets::Known);
    // BOLT expects ranges between two taken branches, but our blocks end at each branch. So a branch that was not taken
    // gets a range of its own, from it to the next instruction.
    for (code, runs) in profile.blocks.iter().filter(|(code, _)| code.start.binary == number) {
        if runs.not_taken > 0 {
            let (branch, next) = (code.last().address, code.end().address);
            *all.ranges.entry((branch, next)).or_default() += runs.not_taken;
        }
    }
    for (&(_, to), &count) in
        profile.branches.iter().filter(|((from, to), _)| from.binary != number && to.binary == number)
    {
        *all.branches.entry((0, to.address)).or_default() += count;
    }
    text(&all)
}

/// Writes one binary byte for byte as simpleperf (`inject --output bolt`) does: with comments, which BOLT ignores, and
/// without the targets of indirect branches.
pub fn simpleperf(profile: &Profile, program: &Program, number: u32) -> String {
    let comment = profile.binaries.get(number as usize).map(comment).unwrap_or_default();
    text(&Ranges::of(profile, program, number, Targets::Direct)) + &comment
}

fn text(all: &Ranges) -> String {
    let mut text = String::new();
    for ((start, last), count) in &all.ranges {
        let _ = writeln!(text, "F {start:x} {last:x} {count}");
    }
    // The last number counts mispredictions, which are not in the trace.
    for ((from, to), count) in &all.branches {
        let _ = writeln!(text, "B {from:x} {to:x} {count} 0");
    }
    text
}
