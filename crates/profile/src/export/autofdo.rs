//! The text that simpleperf writes and AutoFDO's `create_llvm_prof --profiler text` reads: ranges that ran, and branches that were
//! taken, of one binary after another.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::counts::Profile;

/// All binaries that are ELF files.
#[must_use]
pub fn write(profile: &Profile) -> String {
    let mut text = String::new();
    for (number, binary) in (0..).zip(&profile.binaries).filter(|(_, binary)| binary.is_elf) {
        let mut ranges: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for (code, runs) in profile.blocks.iter().filter(|(code, _)| code.start.binary == number) {
            *ranges.entry((code.start.address, code.last().address)).or_default() += runs.all();
        }
        // Where a branch went that left the binary is not told.
        let mut branches: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for (&(from, to), count) in profile.branches.iter().filter(|((from, _), _)| from.binary == number) {
            let to = if to.binary == number { to.address } else { 0 };
            *branches.entry((from.address, to)).or_default() += count;
        }
        if ranges.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{}", ranges.len());
        for ((start, last), count) in ranges {
            let _ = writeln!(text, "{start:x}-{last:x}:{count}");
        }
        // Addresses that were sampled alone: there are none.
        let _ = writeln!(text, "0\n{}", branches.len());
        for ((from, to), count) in branches {
            let _ = writeln!(text, "{from:x}->{to:x}:{count}");
        }
        if !binary.build_id.is_empty() {
            text += "// build_id: 0x";
            binary.build_id.iter().for_each(|byte| {
                let _ = write!(text, "{byte:02x}");
            });
            text += "\n";
        }
        let _ = writeln!(text, "// {}\n", binary.name);
    }
    text
}
