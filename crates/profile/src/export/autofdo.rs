//! The text that simpleperf writes and AutoFDO's `create_llvm_prof --profiler text` reads: ranges that ran, and branches that were
//! taken, of one binary after another. Byte for byte what simpleperf (`inject --output autofdo`) writes.

use std::fmt::Write;

use tracewright_core::text::Printable;

use super::ranges::{Ranges, Targets};
use crate::counts::{Binary, Profile};
use crate::program::Program;

/// All binaries that are ELF files, by their paths.
#[must_use]
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
        // AutoFDO counts from the first address that is loaded. A branch to before that goes nowhere.
        let base = program.file(number).and_then(|file| file.first_segment()).unwrap_or(0);
        let Ranges { ranges, branches } = ranges;
        let ranges: Vec<_> = ranges.iter().filter(|((start, _), _)| *start >= base).collect();
        let _ = writeln!(text, "{}", ranges.len());
        for ((start, last), count) in ranges {
            let _ = writeln!(text, "{:x}-{:x}:{count}", start - base, last - base);
        }
        // Addresses that were sampled alone: there are none.
        let branches: Vec<_> = branches.iter().filter(|((from, _), _)| *from >= base).collect();
        let _ = writeln!(text, "0\n{}", branches.len());
        for ((from, to), count) in branches {
            let _ = writeln!(text, "{:x}->{:x}:{count}", from - base, to.checked_sub(base).unwrap_or(0));
        }
        text += &comment(binary);
        text += "\n";
    }
    text
}

/// Build ID, which has 20 bytes here however long it is, and path of a binary.
pub(super) fn comment(binary: &Binary) -> String {
    let mut text = "// build_id: 0x".to_owned();
    for at in 0..20 {
        let _ = write!(text, "{:02x}", binary.build_id.get(at).copied().unwrap_or(0));
    }
    let _ = writeln!(text, "\n// {}", Printable(&binary.name));
    text
}
