//! What `perf2bolt -pa` (LLVM's BOLT) reads: `F` ranges that ran, `B` branches that were taken, of one binary.

use std::fmt::Write;

use super::autofdo::comment;
use super::ranges::{Ranges, Targets};
use crate::counts::Profile;
use crate::program::Program;

/// The binary with this number. Branches that left it, or came from elsewhere, have 0 on that side.
#[must_use]
pub fn write(profile: &Profile, program: &Program, number: u32) -> String {
    let mut all = Ranges::of(profile, program, number, Targets::Known);
    // BOLT takes a range for what ran between two branches that were taken. Ours end at each branch: that one was not taken is a
    // range of its own, from it to what follows.
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

/// The binary with this number, byte for byte as simpleperf (`inject --output bolt`) writes it: with comments, which BOLT does not
/// read, and without the targets of indirect branches.
#[must_use]
pub fn simpleperf(profile: &Profile, program: &Program, number: u32) -> String {
    let comment = profile.binaries.get(number as usize).map(comment).unwrap_or_default();
    text(&Ranges::of(profile, program, number, Targets::Direct)) + &comment
}

fn text(all: &Ranges) -> String {
    let mut text = String::new();
    for ((start, last), count) in &all.ranges {
        let _ = writeln!(text, "F {start:x} {last:x} {count}");
    }
    // The last number says how many of them were foretold wrongly: no trace tells.
    for ((from, to), count) in &all.branches {
        let _ = writeln!(text, "B {from:x} {to:x} {count} 0");
    }
    text
}
