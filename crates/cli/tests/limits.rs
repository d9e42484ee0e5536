//! What a trace does not tell, and what is not decoded: every verb that counts says so, and its status is 1.

use std::fs;
use std::process::Output;

use serde_json::Value;
use tracewright_etrace::packet::{BranchCount, Packet, Start, Support};
use tracewright_etrace::stream::{Config, Encapsulation, Writer};
use tracewright_etrace::{Params, data};

use delta::{Place, stderr, tracewright};

#[path = "support/delta.rs"]
mod delta;

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
fn verbs(place: &Place, run: &str, more: &[&str]) -> Vec<Vec<String>> {
    let kept = place.path("kept");
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
    let place = Place::new();
    place.record("traps", &["--timing", "tiny", "--delta"]);
    let (run, kept) = (place.path("run"), place.path("kept"));
    let said = "an endless loop at 0x800008a0 (exit+0x24) turned an unknown number of times: its counts are a lower bound";
    for verb in verbs(&place, &run, &[]) {
        let arguments: Vec<_> = verb.iter().map(String::as_str).collect();
        partial(&arguments, said);
    }
    let funnel = "once a loop or path ran that the trace does not count\n  - all counts are lower bounds\n";
    partial(&["profile", &run], funnel);
    // What was kept says it, too, without any trace.
    partial(&["merge", &run, "-o", &kept], funnel);
    let again = place.path("again");
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
    assert_eq!(json(&partial(&["annotate", &run, "exit", "--json"], said))[0]["counts_are_least"], true);
    assert_eq!(json(&partial(&["stalls", &run, "--json"], said))["unknown_paths"], 1);
}

/// What has no such loop is complete.
#[test]
fn what_is_told_completely_is_no_lower_bound() {
    let place = Place::new();
    place.record("sort", &[]);
    let run = place.path("run");
    let output = tracewright(&["profile", &run, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(json(&output)["funnel"]["lower_bound"], false);
    assert!(!stderr(&output).contains("lower bound"), "{}", stderr(&output));
}

/// After so many instructions all verbs stop, in the middle of a block, with as many threads as may be.
#[test]
fn every_verb_stops_after_so_many_instructions() {
    let place = Place::new();
    place.record("sort", &["--timing", "tiny", "--delta"]);
    let run = place.path("run");
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
        partial(&verb, "a limit was reached: what follows is not decoded\n  - all counts are lower bounds\n")
    };
    let one = counted("1");
    assert_eq!(json(&one)["instructions"], 1003);
    for jobs in ["2", "7"] {
        assert_eq!(counted(jobs).stdout, one.stdout, "--jobs {jobs}");
    }
    // What only counts is stopped between parts of the file, where its tables are too large.
    for jobs in ["1", "7"] {
        partial(
            &["profile", &run, "--max-memory", "0", "--jobs", jobs],
            "what it tells takes more than 0 MiB",
        );
    }
    // A limit that is not reached changes nothing.
    let plenty = tracewright(&["profile", &run, "--json", "--max-instructions", "1000000000"]);
    let all = tracewright(&["profile", &run, "--json"]);
    assert_eq!(plenty.status.code(), Some(0), "{}", stderr(&plenty));
    let (plenty, all) = (json(&plenty), json(&all));
    for table in ["instructions", "functions", "loops", "branches", "indirect_calls", "funnel"] {
        assert_eq!(plenty[table], all[table], "{table}");
    }
    let output = tracewright(&["merge", &run, "-o", &place.path("kept")]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = tracewright(&["profile", &place.path("kept"), "--max-instructions", "5"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--max-instructions"), "{}", stderr(&output));
}

/// Some bytes that tell of billions of instructions: branches that were foretold are a number.
struct Hostile {
    place: Place,
    trace: String,
    image: String,
    source: String,
}

const SOURCE: &str =
    "etrace,isa=rv64,encapsulation=smi,notime=0,f0s_width=1,bpred_size=4,branch_prediction=on";

fn hostile() -> Hostile {
    let place = Place::new();
    let (trace, image) = (place.path("trace.bin"), place.path("code.bin"));
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
    let kept = hostile.place.path("kept");
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
    let place = Place::new();
    let (trace, image) = (place.path("trace.bin"), place.path("code.bin"));
    // 60,000 instructions that do nothing, and a jump back.
    let mut code = vec![0x13_u32; 60_000];
    code.push(0x6f);
    fs::write(&image, code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    let params = Params { notime: false, ..Params::default() };
    let config = Config {
        params,
        encapsulation: Encapsulation::Smi,
        options: Default::default(),
        data: Default::default(),
    };
    let mut writer = Writer::new(config);
    let mut bytes = Vec::new();
    for at in 0..500 {
        let mut start = Start { address: 0x1000 + 4 * at, ..Start::default() };
        start.context.time = at;
        let support =
            Support { qual_status: tracewright_etrace::packet::QualStatus::EndedRep, ..Support::default() };
        let end = Packet::Address(tracewright_etrace::packet::Address {
            value: 60_000 * 4 - 4 * at,
            ..Default::default()
        });
        for packet in [Packet::Start(start), end, Packet::Support(support)] {
            writer.instruction(0, None, &packet, &mut bytes).unwrap();
        }
    }
    fs::write(&trace, &bytes).unwrap();
    let source = "etrace,isa=rv64,encapsulation=smi,notime=0";
    let image = format!("{image}@1000");
    let verb = ["stalls", &trace, "--source", source, "--image", &image, "--max-memory", "64"];
    partial(&verb, "what it tells takes more than 64 MiB (--max-memory allows more)");
}
