//! Text that simpleperf (`inject --output autofdo`) writes, byte for byte, and AutoFDO's `create_llvm_prof --profiler
//! text` reads: for each binary the executed ranges and taken branches, at file offsets.

use std::fmt::Write;

use tracewright_core::text::Printable;

use super::ranges::{Ranges, Targets, code_segments};
use crate::counts::{Binary, Profile};
use crate::program::Program;

/// Writes all ELF binaries, sorted by path.
pub fn write(profile: &Profile, program: &Program) -> String {
    let mut all: Vec<_> = (0..)
        .zip(&profile.binaries)
        .filter(|(_, binary)| binary.is_elf)
        .map(|(number, binary)| (number, binary, Ranges::of(profile, program, number, Targets::Direct)))
        .filter(|(_, _, ranges)| !ranges.ranges.is_empty())
        .collect();
    all.sort_by(|(_, a, _), (_, b, _)| a.name.cmp(&b.name));
    let mut text = String::new();
    if all.len() > 1 {
        text += "// Please split this file. AutoFDO only accepts profile for one binary.\n";
    }
    for (number, binary, ranges) in all {
        let segments = code_segments(profile, program, number);
        // Without segments (kernel modules have none), addresses are written unchanged.
        let offset = |address: u64| match &segments[..] {
            [] => Some(address),
            segments => segments.iter().find_map(|segment| segment.offset_of(address)),
        };
        let Ranges { ranges, branches } = ranges;
        let ranges =
            ranges.iter().filter_map(|((start, last), count)| Some((offset(*start)?, offset(*last)?, count)));
        let ranges = sorted(ranges);
        let _ = writeln!(text, "{}", ranges.len());
        for (start, last, count) in ranges {
            let _ = writeln!(text, "{start:x}-{last:x}:{count}");
        }
        // A branch to another binary gets the target 0.
        let branches = branches
            .iter()
            .filter_map(|((from, to), count)| Some((offset(*from)?, offset(*to).unwrap_or(0), count)));
        let branches = sorted(branches);
        // 0: there are no single sampled addresses.
        let _ = writeln!(text, "0\n{}", branches.len());
        for (from, to, count) in branches {
            let _ = writeln!(text, "{from:x}->{to:x}:{count}");
        }
        text += &comment(binary);
        text += "\n";
    }
    text
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<_> = items.collect();
    items.sort_unstable();
    items
}

/// Formats the build ID of a binary, padded or cut to 20 bytes, and its path.
pub(super) fn comment(binary: &Binary) -> String {
    let mut text = "// build_id: 0x".to_owned();
    for at in 0..20 {
        let _ = write!(text, "{:02x}", binary.build_id.get(at).copied().unwrap_or(0));
    }
    let _ = writeln!(text, "\n// {}", Printable(&binary.name));
    text
}
