//! What a trace does not tell, and what is not decoded: every verb that counts says so, and its status is 1.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tracewright_etrace::packet::{BranchCount, Packet, Start, Support};
use tracewright_etrace::stream::{Config, Encapsulation, Writer};
use tracewright_etrace::{Params, data};
use tracewright_testkit::Scratch;

use crate::run::{command, root};
use delta::{record, stderr, tracewright};

use crate::support::delta;

/// Runs a command that shows something, and says that not all is there.
fn partial(arguments: &[&str], said: &str) -> Output {
    let output = tracewright(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", stderr(&output));
    assert!(stderr(&output).contains(said), "{arguments:?}: no {said:?} in:\n{}", stderr(&output));
    output
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// All verbs that count, of the capture in `run` and with the options `more`, which write what they have to into a folder.
fn verbs(place: &Scratch, run: &str, more: &[&str]) -> Vec<Vec<String>> {
    let kept = place.join("kept");
    let mut all: Vec<Vec<&str>> = vec![
        vec!["decode", run, "--summary"],
        vec!["profile", run],
        vec!["profile", run, "--calls"],
        vec!["profile", run, "--json"],
        vec!["profile", run, "--format", "csv"],
        vec!["profile", run, "--format", "folded"],
        vec!["profile", run, "--format", "callgrind"],
        vec!["profile", run, "--format", "autofdo"],
        vec!["profile", run, "--format", "tracewright", "-o", &kept],
        vec!["annotate", run, "exit"],
        vec!["coverage", run],
        vec!["stalls", run],
        vec!["timeline", run, "-o", "-"],
        vec!["merge", run, "-o", &kept],
        vec!["diff", run, run],
    ];
    all.iter_mut().for_each(|verb| verb.extend(more));
    all.into_iter().map(|verb| verb.into_iter().map(str::to_owned).collect()).collect()
}

/// E-Trace leaves out jumps: how often `j .` ran at the end of this program, nobody knows.
#[test]
fn an_endless_loop_makes_all_counts_lower_bounds() {
    let place = Scratch::new("limits");
    record(&place, "traps", &["--timing", "tiny", "--delta"]);
    let (run, kept) = (place.join("run"), place.join("kept"));
    let said = "an endless loop at 0x800008a0 (exit+0x24) turned an unknown number of times: its counts are a lower bound";
    for verb in verbs(&place, &run, &[]) {
        let arguments: Vec<_> = verb.iter().map(String::as_str).collect();
        partial(&arguments, said);
    }
    let funnel = "once a loop or path ran that the trace does not count\n  - all counts are lower bounds\n";
    partial(&["profile", &run], funnel);
    // What was kept says it, too, without any trace.
    partial(&["merge", &run, "-o", &kept], funnel);
    let again = place.join("again");
    for verb in [
        vec!["profile", &kept],
        vec!["annotate", &kept, "exit"],
        vec!["coverage", &kept],
        vec!["merge", &kept, &kept, "-o", &again],
        vec!["diff", &kept, &kept],
    ] {
        partial(&verb, "all counts are lower bounds");
    }
    // So do objects for programs.
    let summary = json(&partial(&["decode", &run, "--summary", "--json"], said));
    assert_eq!(summary["unknown_paths"], 1);
    for verb in [vec!["profile", &kept, "--json"], vec!["coverage", &run, "--json"]] {
        let funnel = &json(&partial(&verb, "lower bounds"))["funnel"];
        assert_eq!((&funnel["unknown_paths"], &funnel["lower_bound"]), (&1.into(), &true.into()));
    }
    assert_eq!(json(&partial(&["annotate", &run, "exit", "--json"], said))[0]["lower_bound"], true);
    assert_eq!(json(&partial(&["stalls", &run, "--json"], said))["unknown_paths"], 1);
}

/// What has no such loop is complete.
#[test]
fn what_is_told_completely_is_no_lower_bound() {
    let place = Scratch::new("limits");
    record(&place, "sort", &[]);
    let run = place.join("run");
    let output = tracewright(&["profile", &run, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(json(&output)["funnel"]["lower_bound"], false);
    assert!(!stderr(&output).contains("lower bound"), "{}", stderr(&output));
}

/// After so many instructions all verbs stop, in the middle of a block, with as many threads as may be.
#[test]
fn every_verb_stops_after_so_many_instructions() {
    let place = Scratch::new("limits");
    record(&place, "sort", &["--timing", "tiny", "--delta"]);
    let run = place.join("run");
    let said = "stopped after 1003 instructions (--max-instructions): all that follows is left out";
    let limit = ["--max-instructions", "1003"];
    for mut verb in verbs(&place, &run, &limit) {
        if verb[0] == "annotate" {
            verb[2] = "main".into();
        }
        let arguments: Vec<_> = verb.iter().map(String::as_str).collect();
        partial(&arguments, said);
    }
    let summary = json(&partial(&[&["decode", &run, "--summary", "--json"], &limit[..]].concat(), said));
    assert_eq!((&summary["instructions"], &summary["stopped"]), (&1003.into(), &1.into()));
    let counted = |jobs: &str| {
        let verb = ["profile", &run, "--json", "--max-instructions", "1003", "--jobs", jobs];
        let output = partial(&verb, "\n  - up to a limit that was reached: what follows is not decoded\n");
        assert!(stderr(&output).contains("\n  - all counts are lower bounds\n"), "{}", stderr(&output));
        output
    };
    let one = counted("1");
    assert_eq!(json(&one)["instructions"], 1003);
    for jobs in ["2", "7"] {
        assert_eq!(counted(jobs).stdout, one.stdout, "--jobs {jobs}");
    }
    // What only counts is stopped between parts of the file, where its tables are too large.
    for jobs in ["1", "7"] {
        let verb = ["profile", &run, "--json", "--max-memory", "0", "--jobs", jobs];
        let output = partial(&verb, "what the trace tells takes more than 0 MiB");
        // Where reading stopped is not where the file ends.
        assert!(!stderr(&output).contains("ends inside"), "{}", stderr(&output));
        only_decoded_bytes(&json(&output));
    }
    only_decoded_bytes(&json(&one));
    // A limit that is not reached changes nothing.
    let plenty = tracewright(&["profile", &run, "--json", "--max-instructions", "1000000000"]);
    let all = tracewright(&["profile", &run, "--json"]);
    assert_eq!(plenty.status.code(), Some(0), "{}", stderr(&plenty));
    let (plenty, all) = (json(&plenty), json(&all));
    for table in ["instructions", "functions", "loops", "branches", "indirect_calls", "funnel"] {
        assert_eq!(plenty[table], all[table], "{table}");
    }
    let output = tracewright(&["merge", &run, "-o", &place.join("kept")]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = tracewright(&["profile", &place.join("kept"), "--max-instructions", "5"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--max-instructions"), "{}", stderr(&output));
}

/// The bytes after a limit are neither lost, nor around the trace.
#[track_caller]
fn only_decoded_bytes(profile: &Value) {
    let funnel = &profile["funnel"];
    assert!(funnel["bytes"].as_u64().unwrap() > 0, "{funnel}");
    for left_out in ["bytes_around", "bytes_unread", "bytes_lost"] {
        assert_eq!(funnel[left_out], 0, "{funnel}");
    }
}

/// A run that stops where its limit is reached differs from the log at no place that the trace tells.
#[test]
fn a_limit_is_no_difference_from_a_log() {
    let output = tracewright(&["decode", "nowhere", "--check", "nowhere.log", "--max-instructions", "5"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot be used with"), "{}", stderr(&output));
}

/// Some bytes that tell of billions of instructions: branches that were foretold are a number.
struct Hostile {
    place: Scratch,
    trace: String,
    image: String,
    source: String,
}

const SOURCE: &str =
    "etrace,isa=rv64,encapsulation=smi,notime=0,f0s_width=1,bpred_size=4,branch_prediction=on";

fn hostile() -> Hostile {
    let place = Scratch::new("limits");
    let (trace, image) = (place.join("trace.bin"), place.join("code.bin"));
    // bne zero, zero, 8; j -4; j -8
    let code = [0x0000_1463_u32, 0xffdf_f06f, 0xff9f_f06f];
    fs::write(&image, code.map(u32::to_le_bytes).concat()).unwrap();
    let params = Params { notime: false, bpred_size: 4, ..Params::default() };
    let options = tracewright_etrace::Options { branch_prediction: true, ..Default::default() };
    let data = data::Options::default();
    let mut writer = Writer::new(Config { params, encapsulation: Encapsulation::Smi, options, data });
    let mut bytes = Vec::new();
    let mut put = |packet: &Packet| writer.instruction(0, None, packet, &mut bytes).unwrap();
    put(&Packet::Support(Support { ienable: true, ioptions: options, ..Support::default() }));
    put(&Packet::Start(Start { address: 0x1000, ..Start::default() }));
    for _ in 0..50 {
        put(&Packet::BranchCount(BranchCount { count: 0x7fff_ffff, failed: true, address: None }));
    }
    assert!(bytes.len() < 600, "{} bytes", bytes.len());
    fs::write(&trace, bytes).unwrap();
    Hostile { place, trace, image: format!("{image}@1000"), source: SOURCE.into() }
}

impl Hostile {
    fn verb(&self, verb: &[&str], more: &[&str]) -> Vec<String> {
        let mut all = vec![verb[0], &self.trace];
        all.extend(&verb[1..]);
        all.extend(["--source", &self.source, "--image", &self.image]);
        all.extend(more);
        all.into_iter().map(str::to_owned).collect()
    }
}

/// Without the limit each of these would take minutes, or terabytes of text.
#[test]
fn a_few_bytes_that_tell_of_billions_of_instructions_can_be_limited() {
    let hostile = hostile();
    let kept = hostile.place.join("kept");
    let said = "stopped after 100000 instructions (--max-instructions)";
    for verb in [
        vec!["decode"],
        vec!["decode", "--summary"],
        vec!["decode", "--json"],
        vec!["profile"],
        vec!["profile", "--calls"],
        vec!["coverage"],
        vec!["stalls"],
        vec!["timeline", "-o", "-"],
        vec!["merge", "-o", &kept],
    ] {
        let verb = hostile.verb(&verb, &["--max-instructions", "100000"]);
        partial(&verb.iter().map(String::as_str).collect::<Vec<_>>(), said);
    }
}

/// A single packet tells of billions of blocks: it is not decoded to its end once nobody takes them.
#[test]
fn a_reader_that_has_gone_and_a_full_disk_end_it_inside_a_packet() {
    let hostile = hostile();
    for jobs in ["1", "7"] {
        let verb = hostile.verb(&["decode"], &["--jobs", jobs]);
        let command = || {
            let mut command = command(&[]);
            command.args(&verb).stderr(Stdio::null());
            command
        };
        let mut gone = command().stdout(Stdio::piped()).spawn().unwrap();
        gone.stdout.take().unwrap().read_exact(&mut [0; 100]).unwrap();
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut full = command().stdout(full).spawn().unwrap();
        for (child, status) in [(&mut gone, 0), (&mut full, 2)] {
            let start = Instant::now();
            let ended = loop {
                if let Some(ended) = child.try_wait().unwrap() {
                    break ended;
                }
                if start.elapsed() > Duration::from_secs(60) {
                    child.kill().unwrap();
                    panic!("--jobs {jobs}: runs on");
                }
                std::thread::sleep(Duration::from_millis(5));
            };
            assert_eq!(ended.code(), Some(status), "--jobs {jobs}");
        }
    }
}

/// Text of several sources waits for that of the others: there is an end to that.
#[test]
fn text_that_waits_for_other_sources_is_limited() {
    let hostile = hostile();
    let second = SOURCE.replacen("etrace,", "etrace,id=1,", 1);
    let verb = hostile.verb(&["decode"], &["--source", &second, "--max-memory", "8"]);
    let output = partial(&verb.iter().map(String::as_str).collect::<Vec<_>>(), "takes more than 8 MiB");
    assert!(output.stdout.len() < 16 << 20, "{} bytes", output.stdout.len());
}

/// A table with an entry for each instruction of each block, and blocks that begin everywhere in a long one.
#[test]
fn tables_of_hostile_traces_are_limited() {
    let place = Scratch::new("limits");
    let (trace, image) = (place.join("trace.bin"), place.join("code.bin"));
    // 60,000 instructions that do nothing, and a jump back.
    let mut code = vec![0x13_u32; 60_000];
    code.push(0x6f);
    fs::write(&image, code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    let params = Params { notime: false, ..Params::default() };
    let config = Config {
        params,
        encapsulation: Encapsulation::Standard { source_bits: 1, timestamp_bytes: 0, type_bits: 1 },
        options: Default::default(),
        data: Default::default(),
    };
    let write = |sources: u16, blocks: u64| {
        let mut writer = Writer::new(config.clone());
        let mut bytes = Vec::new();
        for (at, source) in (0..blocks).flat_map(|at| (0..sources).map(move |source| (at, source))) {
            let mut start = Start { address: 0x1000 + 4 * at, ..Start::default() };
            start.context.time = at;
            let support = Support {
                qual_status: tracewright_etrace::packet::QualStatus::EndedRep,
                ..Support::default()
            };
            let end = Packet::Address(tracewright_etrace::packet::Address {
                value: 60_000 * 4 - 4 * at,
                ..Default::default()
            });
            for packet in [Packet::Start(start), end, Packet::Support(support)] {
                writer.instruction(source, None, &packet, &mut bytes).unwrap();
            }
        }
        fs::write(&trace, &bytes).unwrap();
    };
    let image = format!("{image}@1000");
    let source = "etrace,isa=rv64,encapsulation=standard,source_bits=1,type_bits=1,notime=0";
    let other = &source.replacen("etrace,", "etrace,id=1,", 1);
    let said = "what the trace tells takes more than 64 MiB (--max-memory allows more)";
    let one = ["stalls", &trace, "--source", source, "--image", &image, "--max-memory", "64"];
    write(1, 500);
    partial(&one, said);
    // The limit is that of all sources: what one of them may have, two of them may not.
    write(1, 30);
    let output = tracewright(&one);
    assert!(!stderr(&output).contains(said), "{}", stderr(&output));
    write(2, 30);
    partial(&[&one[..], &["--source", other]].concat(), said);
}

/// Where no image has the code, the program is no less the right one: a single mismatch after that is no reason to refuse to count.
#[test]
fn code_that_is_not_there_is_no_mismatch() {
    let place = Scratch::new("limits");
    let (trace, image) = (place.join("trace.bin"), place.join("code.bin"));
    // Jumps to the next instruction, and one to itself.
    let code = [[0x0040_006f_u32; 40].as_slice(), &[0x6f]].concat();
    fs::write(&image, code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    // What was foretold is needed to go on: after code that is not there, that is at the next synchronisation only.
    let params = Params { notime: false, bpred_size: 4, ..Params::default() };
    let options = tracewright_etrace::Options { branch_prediction: true, ..Default::default() };
    let config = Config { params, encapsulation: Encapsulation::Smi, options, data: Default::default() };
    let mut writer = Writer::new(config);
    let mut bytes = Vec::new();
    let mut put = |packet: &Packet| writer.instruction(0, None, packet, &mut bytes).unwrap();
    let start = |address| Packet::Start(Start { address, ..Start::default() });
    let to_the_end =
        Packet::Address(tracewright_etrace::packet::Address { value: 160, ..Default::default() });
    let branches = Packet::Branches(tracewright_etrace::packet::BranchMap::new(0, 31), None);
    put(&start(0x1000));
    put(&to_the_end);
    // A branch where there is none.
    put(&start(0x1000));
    put(&branches);
    // More than half of the trace is of code that is not there.
    for _ in 0..20 {
        put(&start(0x9000));
        (0..30).for_each(|_| put(&branches));
    }
    put(&start(0x1000));
    put(&to_the_end);
    fs::write(&trace, &bytes).unwrap();
    let image = format!("{image}@1000");
    let verb = ["decode", &trace, "--summary", "--source", SOURCE, "--image", &image];
    let output = partial(&verb, "20 times without code, 2 mismatches");
    assert!(!stderr(&output).contains("does not explain"), "{}", stderr(&output));
}

/// What was said when the trace was decoded first is not said again when it is decoded in order.
#[test]
fn the_end_inside_a_packet_is_told_once() {
    let place = Scratch::new("limits");
    let samples = root().join("samples/hello");
    let capture = place.join("capture");
    fs::create_dir(&capture).unwrap();
    for file in samples.read_dir().unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), Path::new(&capture).join(file.file_name())).unwrap();
    }
    fs::File::options()
        .write(true)
        .open(Path::new(&capture).join("buffer_0.bin"))
        .unwrap()
        .set_len(32)
        .unwrap();
    let output = tracewright(&["profile", &capture, "--calls"]);
    let told = stderr(&output).matches("the trace ends inside a packet").count();
    assert_eq!(told, 1, "{}", stderr(&output));
}
