//! What a trace does not tell, and what is not decoded: every verb that counts says so, and its status is 1.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use serde_json::Value;
use tracewright_etrace::packet::{Address, BranchCount, BranchMap, Packet, QualStatus, Start, Support};
use tracewright_etrace::stream::{Config, Encapsulation, Writer};
use tracewright_etrace::{Options, Params};
use tracewright_testkit::Scratch;

use crate::run::{Ran, command, copy_folder, ends_soon, number, recorded, root, run};

/// Runs a command that shows something, and says that not all is there.
#[track_caller]
fn partial(line: &str, said: &str) -> Ran {
    run!("{line}").ends(1).says(said)
}

/// All verbs that count, of the capture RUN; they write what they have to into the file OUT.
const VERBS: [&str; 15] = [
    "decode RUN --summary",
    "profile RUN",
    "profile RUN --calls",
    "profile RUN --json",
    "profile RUN --format csv",
    "profile RUN --format folded",
    "profile RUN --format callgrind",
    "profile RUN --format autofdo",
    "profile RUN --format tracewright -o OUT",
    "annotate RUN FUNCTION",
    "coverage RUN",
    "stalls RUN",
    "timeline RUN -o -",
    "merge RUN -o OUT",
    "diff RUN RUN",
];

/// It must end well, and say so much.
#[track_caller]
fn bounded(line: &str, said: &str) -> Ran {
    run!("{line}").ends(0).says(said)
}

/// E-Trace leaves out jumps: how often `j .` ran at the end of this program, nobody knows. That is said; nothing is wrong or missing.
#[test]
fn an_endless_loop_makes_all_counts_lower_bounds() {
    let place = Scratch::new("limits");
    let run = recorded(&place, "traps", "--timing tiny --delta");
    let (kept, again) = (place.join("kept"), place.join("again"));
    let said = "an endless loop at 0x800008a0 (exit+0x24) turned an unknown number of times: its counts are a lower bound";
    for verb in VERBS {
        bounded(&verb.replace("RUN", &run).replace("OUT", &kept).replace("FUNCTION", "exit"), said);
    }
    let funnel = "once a loop or path ran that the trace does not count\n  - all counts are lower bounds\n";
    bounded(&format!("profile {run}"), funnel);
    // What was kept says it, too, without any trace.
    bounded(&format!("merge {run} -o {kept}"), funnel);
    for verb in ["profile {}", "annotate {} exit", "coverage {}", "merge {} {} -o AGAIN", "diff {} {}"] {
        bounded(&verb.replace("{}", &kept).replace("AGAIN", &again), "all counts are lower bounds");
    }
    // So do objects for programs.
    assert_eq!(bounded(&format!("decode {run} --summary --json"), said).json()["unknown_paths"], 1);
    for verb in [format!("profile {kept} --json"), format!("coverage {run} --json")] {
        let funnel = &bounded(&verb, "lower bounds").json()["funnel"];
        assert_eq!((&funnel["unknown_paths"], &funnel["lower_bound"]), (&1.into(), &true.into()));
    }
    let annotated = bounded(&format!("annotate {run} exit --json"), said).json();
    assert_eq!(annotated["functions"][0]["lower_bound"], true);
    assert_eq!(bounded(&format!("stalls {run} --json"), said).json()["unknown_paths"], 1);
}

/// What has no such loop is complete.
#[test]
fn what_is_told_completely_is_no_lower_bound() {
    let place = Scratch::new("limits");
    let run = recorded(&place, "sort", "");
    let ran = run!("profile {run} --json").ends(0).says_not("lower bound");
    assert_eq!(ran.json()["funnel"]["lower_bound"], false);
}

/// After so many instructions all verbs stop, in the middle of a block, with as many threads as may be.
#[test]
fn every_verb_stops_after_so_many_instructions() {
    let place = Scratch::new("limits");
    let (run, kept) = (recorded(&place, "sort", "--timing tiny --delta"), place.join("kept"));
    let said =
        "stopped after 1003 instructions, the limit: all that follows is left out (--max-instructions)";
    let limit = "--max-instructions 1003";
    for verb in VERBS {
        let verb = verb.replace("RUN", &run).replace("OUT", &kept).replace("FUNCTION", "main");
        partial(&format!("{verb} {limit}"), said);
    }
    let summary = partial(&format!("decode {run} --summary --json {limit}"), said).json();
    assert_eq!((&summary["instructions"], &summary["stopped"]), (&1003.into(), &1.into()));
    let counted = |jobs: u32| {
        let counted = run!("profile {run} --json {limit} --jobs {jobs}").ends(1);
        let counted = counted.says("\n  - up to a limit that was reached: what follows is not decoded\n");
        counted.says("\n  - all counts are lower bounds\n")
    };
    let one = counted(1);
    assert_eq!(one.json()["instructions"], 1003);
    for jobs in [2, 7] {
        assert_eq!(counted(jobs).out, one.out, "--jobs {jobs}");
    }
    // What only counts is stopped between parts of the file, where its tables are too large.
    for jobs in [1, 7] {
        let ran = run!("profile {run} --json --max-memory 0 --jobs {jobs}").ends(1);
        // Where reading stopped is not where the file ends.
        let ran = ran.says("what the trace tells takes more than 0 MiB").says_not("ends inside");
        only_decoded_bytes(&ran.json());
    }
    only_decoded_bytes(&one.json());
    // A limit that is not reached changes nothing.
    let plenty = run!("profile {run} --json --max-instructions 1000000000").ends(0).json();
    let all = run!("profile {run} --json").json();
    for table in ["instructions", "functions", "loops", "branches", "indirect_calls", "funnel"] {
        assert_eq!(plenty[table], all[table], "{table}");
    }
    run!("merge {run} -o {kept}").ends(0);
    run!("profile {kept} --max-instructions 5").ends(2).says("--max-instructions");
}

/// The bytes after a limit are neither lost, nor around the trace.
#[track_caller]
fn only_decoded_bytes(profile: &Value) {
    let funnel = &profile["funnel"];
    assert!(number(funnel, "bytes") > 0, "{funnel}");
    for left_out in ["around_bytes", "unread_bytes", "lost_bytes"] {
        assert_eq!(funnel[left_out], 0, "{funnel}");
    }
}

/// A run that stops where its limit is reached differs from the log at no place that the trace tells.
#[test]
fn a_limit_is_no_difference_from_a_log() {
    let refused = run!("decode nowhere --check nowhere.log --max-instructions 5").ends(2);
    refused.says("cannot be used with");
}

/// A trace of our making, and the code it is of, at 0x1000.
struct Made {
    place: Scratch,
    trace: String,
    image: String,
}

impl Made {
    fn new(code: &[u32]) -> Self {
        let place = Scratch::new("limits");
        let (trace, file) = (place.join("trace.bin"), place.join("code.bin"));
        fs::write(&file, code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()).unwrap();
        Self { place, trace, image: format!("--image {file}@1000") }
    }

    /// Writes the packets of sources. Returns how many bytes that are.
    fn write(&self, config: Config, packets: impl IntoIterator<Item = (u16, Packet)>) -> usize {
        let mut writer = Writer::new(config);
        let mut bytes = Vec::new();
        for (source, packet) in packets {
            writer.instruction(source, None, &packet, &mut bytes).unwrap();
        }
        fs::write(&self.trace, &bytes).unwrap();
        bytes.len()
    }
}

const SOURCE: &str =
    "--source etrace,isa=rv64,encapsulation=smi,notime=0,f0s_width=1,bpred_size=4,branch_prediction=on";

/// What [`SOURCE`] says.
fn config() -> Config {
    let params = Params { notime: false, bpred_size: 4, ..Params::default() };
    let options = Options { branch_prediction: true, ..Default::default() };
    Config { params, encapsulation: Encapsulation::Smi, options, data: Default::default() }
}

fn start(address: u64) -> Packet {
    Packet::Start(Start { address, ..Start::default() })
}

fn address(value: u64) -> Packet {
    Packet::Address(Address { value, ..Default::default() })
}

/// Some bytes that tell of billions of instructions: branches that were foretold are a number.
fn hostile() -> Made {
    // bne zero, zero, 8; j -4; j -8
    let made = Made::new(&[0x0000_1463, 0xffdf_f06f, 0xff9f_f06f]);
    let support = Support { ienable: true, ioptions: config().options, ..Support::default() };
    let branches = Packet::BranchCount(BranchCount { count: 0x7fff_ffff, failed: true, address: None });
    let begin = [Packet::Support(support), start(0x1000)];
    let packets = begin.into_iter().chain(std::iter::repeat_n(branches, 50));
    let bytes = made.write(config(), packets.map(|packet| (0, packet)));
    assert!(bytes < 600, "{bytes} bytes");
    made
}

/// Without the limit each of these would take minutes, or terabytes of text.
#[test]
fn a_few_bytes_that_tell_of_billions_of_instructions_can_be_limited() {
    let Made { place, trace, image } = hostile();
    for verb in [
        "decode",
        "decode --summary",
        "decode --json",
        "profile",
        "profile --calls",
        "coverage",
        "stalls",
        "timeline -o -",
        "merge -o KEPT",
    ] {
        let verb = verb.replace("KEPT", &place.join("kept"));
        let limited = run!("{verb} {trace} {SOURCE} {image} --max-instructions 100000").ends(1);
        limited.says(
            "stopped after 100000 instructions, the limit: all that follows is left out (--max-instructions)",
        );
    }
}

/// A single packet tells of billions of blocks: it is not decoded to its end once nobody takes them.
#[test]
fn a_reader_that_has_gone_and_a_full_disk_end_it_inside_a_packet() {
    let Made { place: _place, trace, image } = hostile();
    for jobs in [1, 7] {
        let verb = format!("decode {trace} {SOURCE} {image} --jobs {jobs}");
        let start = |stdout: Stdio| command(&verb).stderr(Stdio::null()).stdout(stdout).spawn().unwrap();
        let mut gone = start(Stdio::piped());
        gone.stdout.take().unwrap().read_exact(&mut [0; 100]).unwrap();
        let mut full = start(fs::File::options().write(true).open("/dev/full").unwrap().into());
        for (child, status) in [(&mut gone, 0), (&mut full, 2)] {
            assert_eq!(ends_soon(child, &verb).code(), Some(status), "--jobs {jobs}");
        }
    }
}

/// Text of several sources waits for that of the others: there is an end to that.
#[test]
fn text_that_waits_for_other_sources_is_limited() {
    let Made { place: _place, trace, image } = hostile();
    let second = SOURCE.replacen("etrace,", "etrace,id=1,", 1);
    let limited = run!("decode {trace} {SOURCE} {image} {second} --max-memory 8").ends(1);
    let limited = limited.says("takes more than 8 MiB");
    assert!(limited.out.len() < 16 << 20, "{} bytes", limited.out.len());
}

/// A table with an entry for each instruction of each block, and blocks that begin everywhere in a long one.
#[test]
fn tables_of_hostile_traces_are_limited() {
    // 60,000 instructions that do nothing, and a jump back.
    let made = Made::new(&[&[0x13; 60_000], &[0x6f][..]].concat());
    let encapsulation = Encapsulation::Standard { source_bits: 1, timestamp_bytes: 0, type_bits: 1 };
    let params = Params { notime: false, ..Params::default() };
    let (options, data) = (Default::default(), Default::default());
    let config = Config { params, encapsulation, options, data };
    let write = |sources: u16, blocks: u64| {
        let all = (0..blocks).flat_map(|at| (0..sources).map(move |source| (at, source)));
        let packets = all.flat_map(|(at, source)| {
            let mut start = Start { address: 0x1000 + 4 * at, ..Start::default() };
            start.context.time = at;
            let support = Support { qual_status: QualStatus::EndedRep, ..Support::default() };
            let block = [Packet::Start(start), address(60_000 * 4 - 4 * at), Packet::Support(support)];
            block.map(|packet| (source, packet))
        });
        made.write(config.clone(), packets);
    };
    let source = "etrace,isa=rv64,encapsulation=standard,source_bits=1,type_bits=1,notime=0";
    let other = source.replacen("etrace,", "etrace,id=1,", 1);
    let said =
        "what the trace tells takes more than 64 MiB, the limit: all that follows is left out (--max-memory)";
    let one = format!("stalls {} --source {source} {} --max-memory 64", made.trace, made.image);
    write(1, 500);
    partial(&one, said);
    // The limit is that of all sources: what one of them may have, two of them may not.
    write(1, 30);
    run!("{one}").says_not(said);
    write(2, 30);
    partial(&format!("{one} --source {other}"), said);
}

/// Where no image has the code, the program is no less the right one: a single mismatch after that is no reason to refuse to count.
#[test]
fn code_that_is_not_there_is_no_mismatch() {
    // Jumps to the next instruction, and one to itself.
    let made = Made::new(&[&[0x0040_006f; 40], &[0x6f][..]].concat());
    let to_the_end = [start(0x1000), address(160)];
    let branches = Packet::Branches(BranchMap::new(0, 31), None);
    let mut packets = to_the_end.to_vec();
    // A branch where there is none.
    packets.extend([start(0x1000), branches]);
    // More than half of the trace is of code that is not there. What was foretold is needed to go on: after code that is not there,
    // that is at the next synchronisation only.
    for _ in 0..20 {
        packets.push(start(0x9000));
        packets.extend([branches; 30]);
    }
    packets.extend(to_the_end);
    made.write(config(), packets.into_iter().map(|packet| (0, packet)));
    let decoded = run!("decode {} --summary {SOURCE} {}", made.trace, made.image).ends(1);
    decoded.says("20 times without code, 2 mismatches").says_not("does not explain");
}

/// What was said when the trace was decoded first is not said again when it is decoded in order.
#[test]
fn the_end_inside_a_packet_is_told_once() {
    let place = Scratch::new("limits");
    let capture = place.join("capture");
    copy_folder(root().join("samples/hello"), &capture);
    let trace = fs::File::options().write(true).open(format!("{capture}/buffer_0.bin")).unwrap();
    trace.set_len(32).unwrap();
    let ran = run!("profile {capture} --calls");
    assert_eq!(ran.err.matches("the trace ends inside a packet").count(), 1, "{}", ran.err);
}
