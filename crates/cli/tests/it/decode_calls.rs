//! `decode --calls`: functions entered and left, and the call stack where the trace ends.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use tracewright_testkit::{Scratch, has_programs};

use crate::run::{elf, ran, recorded, root, run};

fn events(line: &str) -> Vec<Value> {
    let ran = run!("decode {line} --calls --json").ends_within(0..=1);
    let objects = ran.out.lines().map(|line| serde_json::from_str(line).unwrap());
    // The first and the last are of the listing.
    objects.filter(|object: &Value| object["kind"] != "tracewright").collect()
}

/// Exits are those of the functions entered last; as many calls of each function are listed as the profile counts.
#[test]
fn calls_are_those_of_the_profile() {
    let scratch = Scratch::new("decode-calls");
    let stripped = scratch.join("stripped");
    fs::copy(root().join(elf("sort")), &stripped).unwrap();
    let mut captures = ["args", "sort 300"].map(|program| recorded(&scratch, program, "")).to_vec();
    if has_programs("calls_are_those_of_the_profile", &["llvm-strip-19"]) {
        ran(Command::new("llvm-strip-19").args(["--strip-all", &stripped])).ends(0);
        captures.push(recorded(&scratch, &format!("{stripped} 300"), ""));
    }
    for capture in captures {
        let mut stack = Vec::new();
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for event in events(&capture) {
            let depth = event["depth"].as_u64().unwrap() as usize;
            match event["kind"].as_str().unwrap() {
                "enter" => {
                    assert_eq!(stack.len(), depth, "{event}");
                    stack.push(event["function"].clone());
                    let is_call = event["how"] != "found" && event["how"] != "part";
                    *counts.entry(event["function"].as_str().unwrap().into()).or_default() +=
                        u64::from(is_call);
                }
                "leave" => {
                    assert_eq!(stack.pop().as_ref(), Some(&event["function"]), "{event}");
                    assert_eq!(stack.len(), depth, "{event}");
                }
                _ => {}
            }
        }
        let profile = run!("profile {capture} --calls --no-inline --json").ends_within(0..=1).json();
        let rows = profile["functions"].as_array().unwrap();
        assert!(rows.len() > 5);
        for row in rows {
            let function = row["function"].as_str().unwrap();
            assert_eq!(counts.get(function).copied().unwrap_or(0), row["calls"].as_u64().unwrap(), "{row}");
        }
    }
}

/// A program without an operating system ends where it asks to.
#[test]
fn the_stack_where_the_trace_ends() {
    let scratch = Scratch::new("decode-calls-end");
    let capture = recorded(&scratch, "args", "");
    let events = events(&capture);
    let frames = events.last().unwrap()["frames"].as_array().unwrap();
    let functions: Vec<_> = frames.iter().map(|frame| frame["function"].as_str().unwrap()).collect();
    assert_eq!(functions, ["system_call", "exit", "_start"]);
    // The listing ends with the instruction that is at the top of the stack.
    let listing = run!("decode {capture} --json").ends_within(0..=1).out;
    let exception = listing.lines().rfind(|line| line.contains("\"exception\"")).unwrap();
    let exception: Value = serde_json::from_str(exception).unwrap();
    assert_eq!(frames[0]["address"], exception["return_address"]);
    let only = self::events(&format!("{capture} --function main"));
    let entered: Vec<_> = only.iter().filter(|event| event["kind"] == "enter").collect();
    assert!(!entered.is_empty() && entered.iter().all(|event| event["function"] == "main"), "{entered:?}");
    assert_eq!(only.last().unwrap()["frames"], events.last().unwrap()["frames"]);
}

/// Where code is missing again and again, one line says so; if it is missing at the end, the call stack is said to be an earlier one.
#[test]
fn what_is_missing_is_told_once() {
    let scratch = Scratch::new("decode-calls-missing");
    for file in fs::read_dir(root().join("samples/hello")).unwrap().map(|file| file.unwrap()) {
        let bytes = fs::read(file.path()).unwrap();
        // The end of `main` is gone, and what follows it.
        let len = if file.file_name() == "dump_0_0.bin" { 0x2c } else { bytes.len() };
        scratch.write(file.file_name().to_str().unwrap(), &bytes[..len]);
    }
    let capture = &format!("{} --accept-mismatch", scratch.path().to_str().unwrap());
    let elements = run!("decode {capture} --json").ends(1).out;
    let missing = elements.lines().filter(|line| line.contains(r#""kind":"no code""#)).count() as u64;
    assert!(missing > 2, "{elements}");
    let all = events(capture);
    let gaps: Vec<_> = all.iter().filter(|event| event["kind"] == "gap").collect();
    assert_eq!(gaps.iter().map(|gap| gap["times"].as_u64().unwrap()).sum::<u64>(), missing, "{all:?}");
    assert!((gaps.len() as u64) < missing, "{all:?}");
    assert_eq!(all.last().unwrap()["lost"], true);
    let text = run!("decode {capture} --calls").ends(1);
    text.prints("? something is missing, ")
        .prints(": the last call stack that is known: what ran after it is missing\n");
    let whole =
        run!("decode samples/hello --calls").ends(0).prints("the call stack where the trace ends").out;
    assert!(!whole.contains("missing"), "{whole}");
}

/// Calls that are too deep to be followed are left out, as many in all verbs and formats, and the status is 1.
#[test]
fn calls_that_are_too_deep_are_told() {
    let scratch = Scratch::new("decode-calls-deep");
    // Each of `is_even` and `is_odd` calls the other, 10,002 times in all.
    let capture = recorded(&scratch, "recursion", "");
    let profile = run!("profile {capture} --calls --json").ends(1).json();
    assert_eq!(profile["funnel"]["incomplete"], json!(["calls-too-deep"]));
    let too_deep = profile["calls_too_deep"].as_u64().unwrap();
    assert!((10_002 - 4096..10_002 - 4000).contains(&too_deep), "{too_deep}");
    let told = format!("{too_deep} calls deeper than 4096 left out");
    let formats =
        "tree callgrind folded pprof flamegraph llvm-contexts".split(' ').map(|of| format!("--format {of}"));
    for form in formats.chain(["--calls", "--format csv --rows call-tree"].map(String::from)) {
        let out = scratch.join("out");
        run!("profile {capture} {form} -o {out} --force").ends(1).says(&told);
    }
    let tree = run!("profile {capture} --format tree --json").ends(1).json();
    assert_eq!(tree["incomplete"], json!(["calls-too-deep"]));
    run!("profile {capture} --function is_odd --format folded --calls").ends(1).says(&told);
    run!("diff {capture} {capture} --format flamegraph -o {}", scratch.join("diff.svg")).ends(1).says(&told);
    let objects = run!("decode {capture} --calls --json --last 3").ends(1).says(&told).out;
    assert!(objects.contains(&format!("\"calls_too_deep\":{too_deep}")), "{objects}");
    assert!(objects.contains("{\"incomplete\":[\"calls-too-deep\"]"), "{objects}");
    run!("timeline {capture} --function is_odd -o {}", scratch.join("run.json")).ends(1).says(&told);
    let flat = recorded(&scratch, "sort 300", "");
    run!("decode {flat} --calls --last 3").ends(0).says_not("deeper");
}
