//! `decode` with a filter prints the lines of the whole listing that a script would pick from it.

use std::collections::HashMap;

use serde_json::Value;
use tracewright_etm::Protocol;
use tracewright_testkit::perf::who;
use tracewright_testkit::{Scratch, captures_for};

use crate::run::{hex, recorded, run, values};
use crate::support::processes::{map, started};

/// The objects of a listing, without its first line, and without the last if that says what is missing.
fn listed(text: &str) -> Vec<Value> {
    values(text).collect()
}

/// The objects that `decode` prints.
fn objects(line: &str) -> Vec<Value> {
    let ran = run!("decode {line} --json").ends_within(0..=1);
    listed(&ran.out)
}

fn only(all: &[Value], kind: &str) -> Vec<Value> {
    all.iter().filter(|object| object["kind"] == kind).cloned().collect()
}

/// Checks that `options` pick the blocks for which `is_wanted` is true, and at least one, but not all.
fn check(capture: &str, options: &str, mut is_wanted: impl FnMut(&Value) -> bool) {
    let all = objects(&format!("{capture} --elements"));
    let expected: Vec<_> = all.iter().filter(|object| is_wanted(object)).cloned().collect();
    let expected = only(&expected, "block");
    assert!(!expected.is_empty() && expected.len() < only(&all, "block").len(), "{capture} {options}");
    for jobs in [1, 3] {
        let found = only(&objects(&format!("{capture} {options} --elements --jobs {jobs}")), "block");
        assert_eq!(found.len(), expected.len(), "{capture} {options}");
        assert!(found == expected, "{capture} {options}");
    }
    let line = format!("{capture} {options} --accept-mismatch");
    let summary = run!("decode {line} --summary --json").ends_within(0..=1);
    let sums = summary.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let sum: u64 = sums.map(|sums| sums["instructions"].as_u64().unwrap()).sum();
    let count = |block: &Value| block["instructions"].as_u64().unwrap();
    assert_eq!(sum, expected.iter().map(count).sum::<u64>(), "{capture} {options}");
}

#[test]
fn functions_ranges_and_binaries() {
    let scratch = Scratch::new("decode-filters");
    let run = recorded(&scratch, "args", "");
    let is_in = |name: &'static str| move |object: &Value| object["function"] == name;
    check(&run, "--function main", is_in("main"));
    check(&run, "--function main --function _start", |object| {
        is_in("main")(object) || is_in("_start")(object)
    });
    check(&run, "--range main+0x120..main+0x260", |object| {
        is_in("main")(object) && (0x120..0x260).contains(&object["function_offset"].as_u64().unwrap())
    });
    run!("decode {run} --binary none").ends(2).says("no binary is called so; there are: args.elf");
    run!("decode {run} --function mian").ends(2).says("there is main");
}

#[test]
fn cycles() {
    let scratch = Scratch::new("decode-filters-cycles");
    let run = recorded(&scratch, "args", "--timing rocket_like --delta");
    let all = objects(&format!("{run} --instructions"));
    let inside = |object: &&Value| object["cycle"].as_u64().is_some_and(|cycle| (149..949).contains(&cycle));
    let expected: Vec<_> = all.iter().filter(inside).cloned().collect();
    assert!(expected.len() > 100 && expected.len() < all.len());
    let found = objects(&format!("{run} --instructions --from-cycle 149 --to-cycle 949"));
    assert_eq!(only(&found, "instruction"), expected);
    let text = run!("decode {run} --instructions --from-cycle 149 --to-cycle 949").good();
    assert!(text.lines().nth(3).is_some_and(|line| line.trim_start().starts_with("149")), "{text}");
    run!("decode samples/threads --from-cycle 100").ends(2).says("nothing tells cycles here");
}

/// The blocks after a timestamp, up to the next, ran at that time.
#[test]
fn timestamps() {
    let mut last = HashMap::new();
    check("samples/threads", "--from-time 0x6781", |object| {
        let id = object["id"].as_u64().unwrap();
        if let Some(time) = object["timestamp"].as_str() {
            last.insert(id, hex(time));
        }
        last.get(&id).is_some_and(|time| *time >= 0x6781)
    });
}

/// Whether an object is of one of these threads, as the last context of its source tells.
fn of_threads(threads: &[u64]) -> impl FnMut(&Value) -> bool {
    let mut last: HashMap<u64, u64> = HashMap::new();
    move |object| {
        let id = object["id"].as_u64().unwrap();
        if let (Some("context"), thread) = (object["kind"].as_str(), &object["context_id"]) {
            last.insert(id, thread.as_u64().unwrap_or(0));
        }
        last.get(&id).is_some_and(|thread| threads.contains(thread))
    }
}

/// Recordings of two processes, one of two threads: what ran is known.
#[test]
fn processes_of_recordings() {
    for protocol in [Protocol::Etm4, Protocol::Ete] {
        let scratch = Scratch::new("decode-pid");
        let (mut made, programs, mut rng) = started(47, protocol, &scratch);
        map(&mut made.recording, who(100, 0), &programs[0], "/bin/one");
        map(&mut made.recording, who(200, 0), &programs[1], "/bin/two");
        made.take_turns(&programs, &mut rng);
        let path = made.write(&scratch);
        let capture = format!("{} --symfs {}", path.display(), scratch.join("root"));
        for (options, threads) in [
            ("--pid 100", &[100, 101][..]),
            ("--pid 200", &[200]),
            ("--tid 101", &[101]),
            ("--tid 101 --tid 200", &[101, 200]),
            ("--pid 100 --tid 101", &[101]),
            ("--cpu 0 --tid 200", &[200]),
        ] {
            let ran = made.ran.iter().zip(&made.by).filter(|(_, by)| threads.contains(*by));
            let expected: Vec<_> = ran.map(|(block, _)| block.start).collect();
            assert!(!expected.is_empty());
            let found = only(&objects(&format!("{capture} {options}")), "block");
            let starts: Vec<_> = found.iter().map(|block| hex(block["address"].as_str().unwrap())).collect();
            assert_eq!(starts, expected, "{options}");
            let profile = run!("profile {capture} {options} --json").nameless().json();
            let count = |block: &Value| block["instructions"].as_u64().unwrap();
            assert_eq!(profile["instructions"], found.iter().map(count).sum::<u64>(), "{options}");
        }
        run!("decode {capture} --pid 101").ends(2).says("there are 100, 200");
    }
}

#[test]
fn threads_and_cores() {
    check("samples/threads", "--tid 1235", of_threads(&[1235]));
    run!("decode samples/threads --pid 1234").ends(0).says("77 instructions in 28 blocks\n");
    run!("decode samples/threads --pid 1").ends(2).says("there are 1234");
    run!("decode samples/threads --tid 1").ends(1).says("threads that ran: 1234, 1235");
    run!("decode samples/threads --cpu 0").ends(2).says("nothing tells which core a source traces");
    run!("decode samples/two-cores --cpu 7").ends(2).says("there are 0, 1");
    run!("packets samples/two-cores --cpu 1").ends(0);
    run!("decode samples/two-cores --pid 7").ends(2).says("--tid takes IDs of threads");
}

#[test]
fn threads_and_cores_of_captures() {
    let Some(captures) = captures_for("threads_and_cores_of_captures", "") else { return };
    let juno = captures.join("coresight/juno_r1_1").display().to_string();
    check(&juno, "--cpu 1 --cpu 4", |object| [0x11, 0x14].contains(&object["id"].as_u64().unwrap()));
    let silent = captures.join("coresight/bugfix-exact-match");
    run!("profile {} --tid 1", silent.display()).ends(2).says("nothing tells which thread ran");
}

/// Every verb counts the same of a thread.
#[test]
fn verbs_agree_on_a_thread() {
    let count = |line: &str| run!("{line} --json").ends_within(0..=1).json();
    let options = "samples/threads --tid 1235";
    assert_eq!(count(&format!("decode {options} --summary"))["instructions"], 27);
    assert_eq!(count(&format!("profile {options}"))["instructions"], 27);
    assert_eq!(count(&format!("profile {options} --calls"))["instructions"], 27);
    assert_eq!(count(&format!("coverage {options}"))["funnel"]["instructions"], 27);
    let scratch = Scratch::new("verbs-thread");
    let kept = scratch.join("kept");
    assert_eq!(count(&format!("merge {options} -o {kept}"))["instructions"], 27);
    run!("profile {kept} --tid 1").ends(2).says("--pid and --tid are for captures");
    run!("diff samples/threads samples/threads --tid 1235").ends(0);
    run!("annotate samples/threads main --tid 1235").ends(0);
    run!("timeline {options} -o {}", scratch.join("timeline")).ends(0).says("slices");
}

/// The table of stalls of a function and of a window is that of the listing.
#[test]
fn stalls_of_a_part() {
    let scratch = Scratch::new("stalls-part");
    let run = recorded(&scratch, "args", "--timing rocket_like --delta");
    let table = |options: &str| run!("stalls {run} --json {options}").ends(0).json();
    let rows = |table: &Value| table["functions"].as_array().unwrap().clone();
    let all = rows(&table("--no-inline"));
    let main = all.iter().find(|row| row["function"] == "main").unwrap();
    let part = rows(&table("--function main --no-inline"));
    assert_eq!(part.len(), 1, "{part:?}");
    assert_eq!(part[0]["instructions"], main["instructions"], "{part:?} {main:?}");
    // What is inlined into it has rows of its own, which add up to it.
    let inlined = rows(&table("--function main"));
    let sum: u64 = inlined.iter().map(|row| row["instructions"].as_u64().unwrap()).sum();
    assert!(inlined.len() > 1 && main["instructions"] == sum, "{inlined:?} {main:?}");
    let there = objects(&format!("{run} --instructions --from-cycle 149 --to-cycle 949"));
    let retired: u64 = rows(&table("--from-cycle 149 --to-cycle 949"))
        .iter()
        .map(|row| row["instructions"].as_u64().unwrap())
        .sum();
    assert_eq!(retired, only(&there, "instruction").len() as u64);
    run!("stalls {run} --function none").ends(2).says("no binary that is here has such a symbol");
}
