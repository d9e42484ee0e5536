//! Recordings of perf and simpleperf, line by line against what simpleperf lists of them (with the OpenCSD that it is built with),
//! and against what Linux perf makes of them. Differences are explained in crates/input/DIFFERENCES.md.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{address, run, string, text, values};
use tracewright_testkit::{Scratch, captures_for, skip};

/// A recording, and how what is listed of it counts: simpleperf's index is that of the byte in all trace so far, ours that in the
/// file.
struct Case {
    name: &'static str,
    /// The buffers in the order in which simpleperf reads them.
    buffers: &'static [&'static str],
    /// Pieces of trace, in the same order: offset in the file (of the bytes behind the AUXTRACE record), and length.
    pieces: &'static [(u64, u64)],
    /// How many lines there are: packets, elements.
    lines: [usize; 2],
}

const CASES: &[Case] = &[
    Case { name: "perf_etm", buffers: &["cpu7"], pieces: &[(0x26d8, 0x180)], lines: [27, 216] },
    Case {
        name: "perf_with_unformatted_trace",
        buffers: &["cpu0"],
        pieces: &[(0x4940, 0x50)],
        lines: [21, 213],
    },
    Case {
        name: "perf_kernel",
        buffers: &["cpu6", "cpu0"],
        pieces: &[(0xdf28, 0x3ff0), (0x11fb8, 0x1940), (0x13998, 0x3ff0)],
        lines: [23_806, 4999],
    },
];

/// What a file that may be packed says.
fn unpacked(path: &Path) -> Option<String> {
    if path.exists() {
        return Some(fs::read_to_string(path).unwrap());
    }
    let name = path.file_name()?.to_str()?;
    let (xz, gz) = (path.with_file_name(format!("{name}.xz")), path.with_file_name(format!("{name}.gz")));
    let command = if xz.exists() { ["xz", xz.to_str()?] } else { ["gzip", gz.to_str()?] };
    let output = Command::new(command[0]).args(["-dc", command[1]]).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// Index, trace ID and the rest of the lines that have those.
fn lines(text: &str) -> Vec<(u64, String, String)> {
    let line = |line: &str| {
        let (index, rest) = line.strip_prefix("Idx:")?.split_once("; ID:")?;
        let (id, rest) = rest.split_once("; ")?;
        Some((index.parse().unwrap(), id.to_owned(), rest.trim_end().to_owned()))
    };
    text.lines().filter_map(line).collect()
}

impl Case {
    /// What we list.
    fn ours(&self, folder: &Path, verb: &str) -> Vec<(u64, String, String)> {
        let path = folder.join(format!("simpleperf/{}.data", self.name));
        let mut all = Vec::new();
        for buffer in self.buffers {
            all.extend(lines(&run!("{verb} {} --style opencsd --buffer {buffer}", text(&path)).out));
        }
        all.into_iter().map(|(offset, id, rest)| (self.index(offset), id, rest)).collect()
    }

    /// simpleperf's index of a byte of the file.
    fn index(&self, offset: u64) -> u64 {
        let mut before = 0;
        for &(start, len) in self.pieces {
            if (start..start + len).contains(&offset) {
                return before + offset - start;
            }
            before += len;
        }
        // Of a source that had nothing.
        offset
    }
}

#[test]
fn packets_are_those_that_simpleperf_lists() {
    let Some(folder) = captures_for("packets of recordings", "perf") else { return };
    for case in CASES {
        let listing = unpacked(&folder.join(format!("oracle/{}.packet.txt", case.name)));
        let Some(listing) = listing else { return skip("packets of recordings", "no xz") };
        let expected = lines(&listing);
        assert_eq!(expected.len(), case.lines[0], "{}", case.name);
        let ours = case.ours(&folder, "packets");
        assert_eq!(ours.len(), expected.len(), "{}", case.name);
        for (ours, (index, id, packet)) in ours.into_iter().zip(expected) {
            // An OpenCSD newer than simpleperf's says more.
            let said = ours.2.strip_suffix("; Decoder Sync point TINFO").unwrap_or(&ours.2);
            // Without frames there are no IDs.
            let ours_id = if ours.1 == "0" { "10" } else { &ours.1 };
            assert_eq!((ours.0, ours_id, said), (index, id.as_str(), packet.as_str()), "{}", case.name);
        }
    }
}

/// A branch of a kernel module as it is in the file, to itself. simpleperf takes it three times.
const UNRELOCATED: &str = "exec range=0xffffff99f58972ec:[0xffffff99f58972f0] num_i(1)";
/// Where it leads once the module is loaded: what ran instead of the second and the third time.
const RELOCATED: [&str; 2] = [
    "exec range=0xffffff99f5897140:[0xffffff99f589716c] num_i(11)",
    "exec range=0xffffff99f589718c:[0xffffff99f5897198] num_i(3)",
];

#[test]
fn elements_are_those_that_simpleperf_lists() {
    let Some(folder) = captures_for("elements of recordings", "perf") else { return };
    for case in CASES {
        let listing = unpacked(&folder.join(format!("oracle/{}.element.txt", case.name)));
        let Some(listing) = listing else { return skip("elements of recordings", "no xz") };
        let expected = lines(&listing);
        assert_eq!(expected.len(), case.lines[1], "{}", case.name);
        let mut ours = case.ours(&folder, "decode --elements");
        // simpleperf never ends a decoder, and resets it before the first byte.
        ours.retain(|(_, _, element)| !element.contains("ELEM_EO_TRACE"));
        for (_, _, element) in &mut ours {
            *element = element.replace("init-decoder", "reset-decoder");
        }
        assert_eq!(ours.len(), expected.len(), "{}", case.name);
        let mut relocated = 0;
        for (ours, expected) in ours.iter().zip(&expected) {
            if case.name == "perf_kernel" && expected.2.contains(UNRELOCATED) && !ours.2.contains(UNRELOCATED)
            {
                assert!(ours.2.contains(RELOCATED[relocated]), "{ours:?}");
                assert_eq!((ours.0, &ours.1), (expected.0, &expected.1));
                relocated += 1;
                continue;
            }
            assert_eq!(ours, expected, "{}", case.name);
        }
        assert_eq!(relocated, if case.name == "perf_kernel" { RELOCATED.len() } else { 0 });
    }
}

/// Instructions and branches that ran, from the blocks that `decode --json` prints, as perf script prints them.
#[derive(Default)]
struct Script {
    instructions: Vec<u64>,
    /// Where from and where to; 0: where tracing began or ended.
    branches: Vec<(u64, u64)>,
}

impl Script {
    fn of(path: &Path, symfs: &Path) -> Self {
        let decoded = run!("decode --json {} --symfs {}", text(path), text(symfs)).good();
        let mut script = Self::default();
        // The last instruction, and whether it was a taken branch; nothing at the start.
        let mut last: Option<(u64, bool)> = None;
        for object in values(&decoded) {
            match string(&object, "kind") {
                "block" => {
                    let (start, end) = (address(&object, "address"), address(&object, "end"));
                    match last {
                        None => script.branches.push((0, start)),
                        Some((from, true)) => script.branches.push((from, start)),
                        Some((_, false)) => {}
                    }
                    script.instructions.extend((start..end).step_by(4));
                    let ended = string(&object, "ended");
                    last = Some((end - 4, !["not taken", "cut", "barrier", "wait"].contains(&ended)));
                }
                "trace on" => {
                    // perf tells of the end of what came before, if a branch was there.
                    if let Some((from, _)) = last.take() {
                        script.branches.push((from, 0));
                    }
                }
                _ => {}
            }
        }
        script
    }
}

/// What `perf script` printed of branches: `... FROM => TO`.
fn branches(text: &str) -> Vec<(u64, u64)> {
    let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
    let branch = |line: &str| {
        let (from, to) = line.split_once(" => ")?;
        Some((hex(from.split_whitespace().last()?), hex(to.split_whitespace().next()?)))
    };
    text.lines().filter_map(branch).collect()
}

/// What it printed of instructions: `ADDRESS`, or `ADDRESS insn: ...`.
pub fn instructions(text: &str) -> Vec<u64> {
    let address = |line: &str| u64::from_str_radix(line.split(" insn:").next()?.trim(), 16).ok();
    text.lines().filter_map(address).collect()
}

#[test]
fn instructions_and_branches_are_those_of_perf() {
    let Some(folder) = captures_for("perf script", "perf") else { return };
    let ours = Script::of(&folder.join("simpleperf/perf_etm.data"), &folder.join("simpleperf"));
    let Some(expected) = unpacked(&folder.join("oracle/perf_etm.insns.txt")) else {
        return skip("perf script", "no gzip");
    };
    let expected = instructions(&expected);
    assert_eq!(expected.len(), 944);
    assert_eq!(ours.instructions, expected);
    let expected = branches(&fs::read_to_string(folder.join("oracle/perf_etm.branches.txt")).unwrap());
    assert_eq!(expected.len(), 208);
    assert_eq!(ours.branches, expected);
}

/// Runs `perf script` itself. `None`: there is none that can decode CoreSight.
pub fn perf_script(path: &Path, symfs: &Path, options: &[&str]) -> Option<String> {
    let mut perf = Command::new("perf");
    perf.args(["script", "-i"]).arg(path).arg("--symfs").arg(symfs).args(options);
    let output = perf.output().ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// A whole process, from the dynamic loader on, with three programs mapped.
#[test]
fn a_whole_process_is_that_of_the_perf_that_is_here() {
    let Some(folder) = captures_for("perf itself", "perf") else { return };
    let path = folder.join("ricsec_branches_trace1.data");
    let elf = folder.join("../process/elf");
    let ours = Script::of(&path, &elf);
    // Counted by OpenCSD's lister in the same trace, as a snapshot.
    assert_eq!((ours.instructions.len(), ours.branches.len()), (74_912, 8033));
    // perf wants the folders of the machine.
    let scratch = Scratch::new("symfs");
    let symfs = scratch.path();
    fs::create_dir(symfs.join("branches")).unwrap();
    for name in ["branches", "ld-2.31.so", "libc-2.31.so"] {
        fs::copy(elf.join(name), symfs.join("branches").join(name)).unwrap();
    }
    let listed = perf_script(&path, symfs, &["--itrace=i1i", "-F", "ip,insn"]);
    let branched = perf_script(&path, symfs, &["--itrace=b", "-F", "ip,addr"]);
    let (Some(listed), Some(branched)) = (listed, branched) else {
        return skip("perf itself", "no perf that reads CoreSight");
    };
    assert_eq!(ours.instructions, instructions(&listed));
    assert_eq!(ours.branches, branches(&branched));
}

/// What a recording lacks, perf can record: no register is named that its user cannot set.
#[test]
fn hints_are_for_users_of_perf() {
    let Some(captures) = captures_for("hints_are_for_users_of_perf", "perf/simpleperf/perf_etm.data") else {
        return;
    };
    let capture = captures.display();
    let cycles = "record them with perf record -e cs_etm/cycacc/";
    run!("stalls {capture}").ends(2).says(cycles).says_not("TRCCONFIGR");
    run!("profile {capture} --from-cycle 1").ends(2).says(cycles).says_not("--timing");
    run!("profile {capture} --format folded --weight cycles").ends(2).says(cycles);
    let other = run!("decode samples/hello --symfs .").ends(2);
    other.says("name the programs of this capture with --image FILE[@ADDR]");
}
