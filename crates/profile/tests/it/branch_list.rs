//! Branch lists compared with simpleperf's dump of them, and damaged ones.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::fs;

use tracewright_core::{Isa, MemorySpace};
use tracewright_image::{Bytes, Image};
use tracewright_profile::branch_list::{self, BranchList, Expanded, Listed, ListedKind, Outcomes};
use tracewright_profile::{Binary, Code, Profile, Runs};
use tracewright_testkit::{Rng, captures_for};

fn not_packed(_: &[u8]) -> Result<Vec<u8>, String> {
    Err("compressed".into())
}

/// Formats a branch list as `simpleperf dump` does.
fn dump(list: &BranchList) -> String {
    let mut text = "etm_data:\n".to_owned();
    for (number, binary) in list.binaries.iter().enumerate() {
        let id: String = binary.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let kind = match binary.kind {
            ListedKind::Elf => "dso_elf_file",
            ListedKind::Kernel => "dso_kernel",
            ListedKind::Module => "dso_kernel_module",
        };
        let name = format!("  binary[{number}]");
        writeln!(text, "{name}.path: {}\n{name}.build_id: 0x{id}", binary.path).unwrap();
        writeln!(text, "{name}.binary_type: {kind}").unwrap();
        if let Some(start) = binary.kernel_start {
            writeln!(text, "{name}.kernel_start_addr: {start:#x}").unwrap();
        }
        writeln!(text, "{name}.addrs:").unwrap();
        for (at, (address, branches)) in binary.branches.iter().enumerate() {
            writeln!(text, "    addr[{at}]: {address:#x}").unwrap();
            let mut branches: Vec<_> = branches
                .iter()
                .map(|(outcomes, count)| {
                    let bits: String = outcomes.iter().map(|taken| if taken { '1' } else { '0' }).collect();
                    (bits, count)
                })
                .collect();
            // simpleperf sorts them as text, the first branch first.
            branches.sort();
            for (at, (bits, count)) in branches.iter().enumerate() {
                let bits: String = bits.chars().rev().collect();
                writeln!(text, "      branch[{at}].branch: 0b{bits}").unwrap();
                writeln!(text, "      branch[{at}].count: {count}").unwrap();
            }
        }
    }
    text
}

#[test]
fn simpleperf_shows_the_same() {
    let Some(folder) = captures_for("simpleperf_shows_the_same", "perf") else { return };
    for name in ["perf_etm", "perf_with_unformatted_trace", "perf_kernel"] {
        let bytes = fs::read(folder.join(format!("oracle/{name}.bl"))).unwrap();
        assert!(branch_list::is_branch_list(&bytes));
        let mut list = branch_list::read(&bytes, not_packed).unwrap();
        list.binaries.sort_by(|a, b| a.path.cmp(&b.path));
        let expected = fs::read_to_string(folder.join(format!("oracle/{name}.bl.dump.txt"))).unwrap();
        for (at, (ours, theirs)) in dump(&list).lines().zip(expected.lines()).enumerate() {
            assert_eq!(ours, theirs, "{name}, line {}", at + 1);
        }
        assert_eq!(dump(&list).lines().count(), expected.lines().count());
        assert_eq!(branch_list::write(&list).len(), bytes.len(), "only the order is another");
        assert_eq!(branch_list::read(&branch_list::write(&list), not_packed).unwrap(), list);
    }
}

#[test]
fn the_old_form_is_read() {
    let Some(folder) = captures_for("the_old_form_is_read", "perf") else { return };
    let bytes = fs::read(folder.join("simpleperf/old_branch_list.data")).unwrap();
    assert!(branch_list::is_branch_list(&bytes));
    let list = branch_list::read(&bytes, not_packed).unwrap();
    assert_eq!(list.binaries[0].path, "[kernel.kallsyms]");
    // As many as there are messages of field 3 in it.
    let branches: usize =
        list.binaries.iter().flat_map(|binary| binary.branches.values()).map(BTreeMap::len).sum();
    assert_eq!(branch_list::read(&branch_list::write(&list), not_packed).unwrap(), list);
    assert_eq!((list.binaries.len(), branches), (BINARIES, BRANCHES));
}

/// Number of binaries in the old list, counted by a few lines of Python.
const BINARIES: usize = 1;
const BRANCHES: usize = 1011;

/// Follows random branches in random code. Converting the resulting profile back gives the same branch list.
#[test]
fn a_profile_is_a_branch_list_and_back() {
    let mut rng = Rng::new(80);
    let mut all = 0;
    for round in 0..200 {
        let word = |rng: &mut Rng| match rng.below(8) {
            0 => 0x5400_0000 | ((rng.below(64) as u32).wrapping_sub(32) & 0x7_ffff) << 5, // b.eq
            1 => 0x1400_0000 | (rng.below(64) as u32).wrapping_sub(32) & 0x3ff_ffff,      // b
            2 => 0xd65f_03c0,                                                             // ret
            3 => 0xd503_3fdf,                                                             // isb
            _ => 0xd503_201f,                                                             // nop
        };
        let code: Vec<u8> = (0..256).flat_map(|_| word(&mut rng).to_le_bytes()).collect();
        let mut builder = Image::builder();
        builder.raw("code", Bytes::from(code), 0x1000, MemorySpace::ANY).unwrap();
        let image = builder.build();
        let mut listed = Listed { path: "code".into(), build_id: vec![0; 20], ..Listed::default() };
        for _ in 0..1 + rng.below(20) {
            let bits = [rng.below(256) as u8, rng.below(256) as u8];
            let outcomes = Outcomes::new(&bits, rng.below(17) as u32).unwrap();
            let from = listed.branches.entry(0x1000 + 4 * rng.below(300)).or_default();
            *from.entry(outcomes).or_default() += 1 + rng.below(1000);
        }
        let expand = |listed: &Listed| {
            let mut profile = Profile::default();
            let binary = Binary {
                name: "code".into(),
                build_id: Vec::new(),
                is_elf: true,
                found: None,
                code: Vec::new(),
            };
            let number = profile.binary(binary);
            let mut expanded = Expanded::default();
            expanded.add(&mut profile, number, listed, (&image, MemorySpace::ANY, Isa::A64));
            (profile, expanded)
        };
        let (profile, expanded) = expand(&listed);
        let told =
            listed.branches.values().flatten().map(|(outcomes, count)| u64::from(outcomes.len()) * count);
        assert_eq!(told.sum::<u64>(), expanded.followed + expanded.lost, "{round}");
        let followed: u64 = profile.blocks.values().map(|runs| runs.taken + runs.not_taken).sum();
        assert_eq!(followed, expanded.followed, "{round}");
        assert_eq!(profile.instructions(), profile.funnel.instructions);
        all += followed;
        // A block after an ISB occurs only with its own start.
        let branches = |profile: &Profile| -> HashMap<Code, Runs> {
            let is_branch = |code: &Code| code.class.is_branch();
            profile
                .blocks
                .iter()
                .filter(|(code, _)| is_branch(code))
                .map(|(code, runs)| (*code, *runs))
                .collect()
        };
        let list = branch_list::of_profile(&profile);
        let (again, _) = list.binaries.first().map(&expand).unwrap_or_default();
        assert_eq!(branches(&again), branches(&profile), "{round}");
        assert_eq!(again.branches, profile.branches, "{round}");
    }
    assert!(all > 10_000, "{all}");
}
