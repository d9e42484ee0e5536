//! Input of `llvm-profgen --unsymbolized-profile`: executed ranges and taken branches of one binary, relative to its
//! first executable segment.

use std::fmt::Write;

use super::ranges::{Ranges, Targets, code_segments};
use crate::counts::Profile;
use crate::program::Program;

/// Page size that llvm-profgen assumes.
const PAGE: u64 = 0x1000;

/// Writes one binary.
pub fn write(profile: &Profile, program: &Program, number: u32) -> String {
    let Ranges { ranges, branches } = Ranges::of(profile, program, number, Targets::Known);
    let first = code_segments(profile, program, number).first().map_or(0, |segment| segment.address);
    let base = first & !(PAGE - 1);
    let mut text = String::new();
    let ranges: Vec<_> = ranges.iter().filter(|((start, _), _)| *start >= base).collect();
    let _ = writeln!(text, "{}", ranges.len());
    for ((start, last), count) in ranges {
        let _ = writeln!(text, "{:x}-{:x}:{count}", start - base, last - base);
    }
    // Branches to other binaries do not help here.
    let branches: Vec<_> =
        branches.iter().filter(|((from, to), _)| *from >= base && *to >= base && *to != 0).collect();
    let _ = writeln!(text, "{}", branches.len());
    for ((from, to), count) in branches {
        let _ = writeln!(text, "{:x}->{:x}:{count}", from - base, to - base);
    }
    text
}
