//! `decode --last` and `--around` print the lines that a script would cut from the whole listing, whatever of it is decoded.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use tracewright_testkit::{Scratch, captures_for};

use crate::run::{recorded, run};

#[test]
fn an_excerpt_of_nothing_is_told() {
    // It does not run.
    let only = "samples/hello --range 0x0..0x2 --accept-mismatch";
    for part in ["", "--last 5", "--around 0x10", "--last 5 --json"] {
        run!("decode {only} {part}").ends(1).says("nothing that ran is in the part that is asked for");
    }
}

/// A listing by buffer and source.
type Sources = BTreeMap<(String, u64), Vec<Value>>;

fn objects(line: &str) -> Sources {
    let ran = run!("decode {line} --instructions --json").ends_within(0..=1);
    let mut sources = Sources::new();
    for line in ran.out.lines().skip(1) {
        let object: Value = serde_json::from_str(line).unwrap();
        // The last line may say what is missing.
        if object["kind"] == "tracewright" {
            continue;
        }
        let source = (object["buffer"].to_string(), object["id"].as_u64().unwrap());
        sources.entry(source).or_default().push(object);
    }
    sources
}

/// Whether an element counts: a place where code or trace is missing does, too.
fn is_instruction(object: &Value) -> bool {
    let kinds = ["instruction", "no code", "mismatch", "unknown path", "gap"];
    object["kind"].as_str().is_some_and(|kind| kinds.contains(&kind))
}

/// The last elements with so many instructions.
fn last(all: &[Value], count: usize) -> &[Value] {
    let starts: Vec<_> = (0..all.len()).filter(|&at| is_instruction(&all[at])).collect();
    let first = starts.len().checked_sub(count).map_or(0, |first| starts[first]);
    &all[first..]
}

/// The first elements with so many instructions.
fn first(all: &[Value], count: usize) -> &[Value] {
    let nth = (0..all.len()).filter(|&at| is_instruction(&all[at])).nth(count - 1);
    &all[..nth.map_or(all.len(), |last| last + 1)]
}

fn has_any(elements: &[Value]) -> bool {
    elements.iter().any(|element| element["kind"] != "end")
}

fn check(capture: &str) {
    let all = objects(capture);
    assert!(all.values().flatten().any(is_instruction), "{capture}");
    for count in [1, 3, 40, 3000, 1_000_000] {
        let expected = all.iter().map(|(source, all)| (source.clone(), last(all, count).to_vec()));
        let expected: Sources = expected.filter(|(_, elements)| has_any(elements)).collect();
        for jobs in [1, 3] {
            let found = objects(&format!("{capture} --last {count} --jobs {jobs}"));
            assert!(found == expected, "{capture} --last {count}");
        }
    }
    let offsets: Vec<_> = all.values().flatten().filter_map(|element| element["offset"].as_u64()).collect();
    for offset in [offsets[offsets.len() / 2], offsets[offsets.len() / 3] + 1] {
        let expected = all.iter().map(|(source, all)| {
            let middle = all.iter().position(|element| element["offset"].as_u64() >= Some(offset));
            let (before, after) = all.split_at(middle.unwrap_or(all.len()));
            (source.clone(), [last(before, 25), first(after, 25)].concat())
        });
        let expected: Sources = expected.filter(|(_, elements)| has_any(elements)).collect();
        let found = objects(&format!("{capture} --around {offset} --count 25"));
        assert!(found == expected, "{capture} --around {offset}");
    }
}

#[test]
fn samples_and_recordings() {
    check("samples/threads");
    check("samples/perf/perf.data --symfs samples/hello");
    let scratch = Scratch::new("decode-last");
    check(&recorded(&scratch, "args", "--timing rocket_like --delta"));
}

#[test]
fn captures_of_chips() {
    let Some(captures) = captures_for("decode_last::captures_of_chips", "") else { return };
    for name in ["coresight/juno_r1_1", "process/fib_trace1", "coresight/ete_spec_3", "coresight/ete_ip"] {
        check(&captures.join(name).display().to_string());
    }
}

/// Only the end of a long trace is decoded: what is shown is the same.
#[test]
fn the_end_of_a_long_trace() {
    let Some(captures) = captures_for("the_end_of_a_long_trace", "") else { return };
    let scratch = Scratch::new("decode-last-long");
    let from = captures.join("coresight/bugfix-exact-match");
    for file in fs::read_dir(&from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), scratch.path().join(file.file_name())).unwrap();
    }
    let trace = fs::read(from.join("cstrace.bin")).unwrap();
    fs::write(scratch.path().join("cstrace.bin"), trace.repeat(5)).unwrap();
    let capture = scratch.path().display();
    let all = run!("decode {capture} --id 0x12 --from 0x400000").ends_within(0..=1).out;
    for count in [1, 100, 5000, 400_000] {
        let last = run!("decode {capture} --last {count}").ends_within(0..=1).out;
        // The first block is cut.
        let lines: Vec<_> = last.lines().skip(2).collect();
        let all: Vec<_> = all.lines().collect();
        assert_eq!(lines, all[all.len() - lines.len()..], "{count}");
    }
    let middle = 0x28_0000_u64;
    let all =
        run!("decode {capture} --id 0x12 --from {middle} --to {}", middle + 0x100).ends_within(0..=1).out;
    let around = run!("decode {capture} --around {middle} --count 100").ends_within(0..=1).out;
    let mark = around.lines().position(|line| line.ends_with("---")).unwrap();
    let after: Vec<_> = around.lines().skip(mark + 1).collect();
    let all: Vec<_> = all.lines().skip(1).take(after.len()).collect();
    assert_eq!(after[..after.len() - 1], all[..after.len() - 1]);
}

/// Without code there are no instructions, and still no more lines than are asked for.
#[test]
fn without_code() {
    let ran = run!("decode samples/two-cores --last 3").ends(1);
    for id in ["0x10", "0x11"] {
        let is_missing =
            |line: &&str| ["no code at", "gap "].iter().any(|what| line.contains(&format!("{id} {what}")));
        let count = ran.out.lines().filter(is_missing).count();
        assert_eq!(count, 3, "{}", ran.out);
    }
    let around = run!("decode samples/two-cores --around 0x80 --count 2").ends(1).out;
    assert!(around.lines().filter(|line| line.contains("no code at")).count() <= 8, "{around}");
}

/// The last entries and exits of each source, and the call stacks.
#[test]
fn calls() {
    for (capture, sources) in [("samples/threads", 2), ("samples/hello", 1)] {
        let all: Vec<_> = run!("decode {capture} --calls --json").good().lines().map(str::to_owned).collect();
        let last: Vec<_> =
            run!("decode {capture} --calls --json --last 4").good().lines().map(str::to_owned).collect();
        let mut expected = vec![all[0].clone()];
        let is_stack = |line: &str| line.contains("\"backtrace\"");
        let id = |line: &str| -> Option<u64> { serde_json::from_str::<Value>(line).unwrap()["id"].as_u64() };
        for (at, line) in all.iter().enumerate().skip(1) {
            let later = all[at + 1..].iter().filter(|later| !is_stack(later) && id(later) == id(line));
            if is_stack(line) || later.count() < 4 {
                expected.push(line.clone());
            }
        }
        assert_eq!(last, expected, "{capture}");
        assert_eq!(last.iter().filter(|line| is_stack(line)).count(), sources);
    }
    run!("decode samples/hello --calls --around 0x20").ends(2);
}

/// Tables of several buffers say which is which.
#[test]
fn buffers_are_named() {
    let Some(captures) = captures_for("buffers_are_named", "coresight/juno_r1_1") else { return };
    let capture = captures.display();
    for more in ["", "--last 3", "--around 0x10", "--calls", "--instructions", "--no-image"] {
        // What is not readable in one of the buffers does not matter here.
        let ran = run!("decode {capture} {more}").ends(1);
        let ran = ran.begins(format!("buffer ETB_0 ({capture}/cstrace.bin)\n"));
        assert_eq!(ran.out.lines().filter(|line| line.starts_with("buffer ETB_")).count(), 2, "{more}");
    }
    let one = run!("decode {capture} --buffer ETB_0 --last 3").ends(1);
    assert!(one.out.starts_with("    offset id "), "{}", one.out);
}

/// With a filter: the last instructions of what is asked for.
#[test]
fn of_a_part() {
    let all = objects("samples/threads --function square");
    let found = objects("samples/threads --function square --last 3");
    assert_eq!(found.len(), 2);
    for (source, elements) in found {
        assert_eq!(elements, last(&all[&source], 3));
    }
}

/// A timestamp holds until the next one of its source.
#[test]
fn timestamps() {
    let line = "decode samples/threads --elements --timestamps --json";
    let mut last = BTreeMap::new();
    let mut seen = 0;
    for line in run!("{line}").good().lines().skip(1) {
        let object: Value = serde_json::from_str(line).unwrap();
        let id = object["id"].as_u64().unwrap();
        if object["kind"] == "timestamp" {
            last.insert(id, object["timestamp"].clone());
        }
        assert_eq!(object["time"], last.get(&id).cloned().unwrap_or_default(), "{object}");
        seen += u64::from(object["time"].is_string());
    }
    assert!(seen > 20, "{seen}");
    let [all, tail] = ["", "--last 4"].map(|more| run!("decode samples/threads --timestamps {more}").good());
    let lines = tail.lines().filter(|line| line.contains("0x11 "));
    assert!(lines.clone().count() > 1, "{tail}");
    assert!(lines.skip(1).all(|line| all.contains(line)), "{tail}\n{all}");
}

/// Lines with a timestamp fit into 80 columns, too: names are cut.
#[test]
fn lines_with_timestamps_fit() {
    for more in ["--timestamps", "--timestamps --instructions", "--by-time"] {
        let listing = run!("decode samples/threads {more}").good();
        let blocks = listing.lines().filter(|line| line.contains(" report+") || line.contains(" square+"));
        assert!(blocks.clone().count() > 5, "{listing}");
        blocks.for_each(|line| assert!(line.chars().count() <= 80, "{line}"));
    }
}
