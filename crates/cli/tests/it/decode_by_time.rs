//! `decode --by-time` prints the lines of `decode --timestamps`, sorted by the time of each source.

use std::collections::BTreeMap;

use serde_json::Value;
use tracewright_core::Element;
use tracewright_etm::encode::Encoder;
use tracewright_input::Packing;
use tracewright_testkit::program::{self, Executor, Happenings, Program};
use tracewright_testkit::{Reader, Rng, Run, Scratch, captures_for};

use crate::run::{run, text};
use crate::support::{Source, frames, write_snapshot};

/// The timestamp of a line, or its nanoseconds where it has them.
fn time(line: &str) -> Option<u64> {
    let object: Value = serde_json::from_str(line).unwrap();
    let ticks = || u64::from_str_radix(object["time"].as_str()?.strip_prefix("0x")?, 16).ok();
    object["time_nanoseconds"].as_u64().or_else(ticks)
}

/// Compares with a plain listing that is sorted here. Returns how often the source changes from line to line.
fn check(options: &str) -> usize {
    let plain = run!("decode {options} --timestamps --json").ends_within(0..=1);
    let merged = run!("decode {options} --by-time --json").ends(plain.status.unwrap());
    let source = |line: &str| {
        let object: Value = serde_json::from_str(line).unwrap();
        (object["buffer"].to_string(), object["id"].as_u64())
    };
    let mut sources: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in plain.out.lines().skip(1) {
        sources.entry(source(line)).or_default().push((line, time(line)));
    }
    let mut expected = Vec::new();
    for lines in sources.values() {
        let mut latest = lines.iter().find_map(|(_, time)| *time);
        for (line, time) in lines {
            latest = latest.max(*time);
            expected.push((latest.unwrap_or(u64::MAX), *line));
        }
    }
    expected.sort_by_key(|(time, _)| *time);
    let expected: Vec<_> = expected.into_iter().map(|(_, line)| line).collect();
    let found: Vec<_> = merged.out.lines().skip(1).collect();
    let same = found.iter().zip(&expected).take_while(|(found, expected)| found == expected).count();
    assert_eq!(found.get(same), expected.get(same), "{options}: line {same}");
    // Totals and faults are the same, too.
    let mut said: Vec<_> = merged.err.lines().filter(|line| !line.contains("no timestamps, so")).collect();
    let mut plainly: Vec<_> = plain.err.lines().collect();
    said.sort_unstable();
    plainly.sort_unstable();
    assert_eq!(said, plainly, "{options}");
    found.windows(2).filter(|pair| source(pair[0]) != source(pair[1])).count()
}

#[test]
fn samples() {
    for options in ["", "--elements", "--instructions", "--function square", "--from 0x24", "--id 0x11"] {
        check(&format!("samples/threads {options}"));
        check(&format!("samples/two-cores {}", options.replace("--function square", "--max-instructions 3")));
    }
    check("samples/perf/perf.data --symfs samples/hello");
    run!("decode samples/etrace --by-time").ends(0).says("no timestamps, so that they come last: hart0");
}

/// The last instructions of all sources together: the end of the whole listing, whatever N is.
fn check_last(options: &str, counts: &[usize]) {
    let is_instruction = |line: &&str| line.contains(r#""kind":"instruction""#);
    let all = run!("decode {options} --by-time --instructions --json").out;
    let all: Vec<_> = all.lines().skip(1).collect();
    for count in counts {
        let last = run!("decode {options} --by-time --instructions --json --last {count}").out;
        let last: Vec<_> = last.lines().skip(1).collect();
        let known = last.iter().copied().filter(is_instruction).count();
        let expected: Vec<_> = all.iter().copied().filter(is_instruction).rev().take(known).collect();
        let found: Vec<_> = last.iter().copied().filter(is_instruction).rev().collect();
        assert_eq!(found, expected, "{options} --last {count}");
        // A place where code or trace is missing counts as one.
        let is_missing = |line: &&&str| {
            let kinds = ["no code", "mismatch", "unknown path", "gap"];
            kinds.iter().any(|kind| line.contains(&format!(r#""kind":"{kind}""#)))
        };
        let missing = last.iter().filter(is_missing).count();
        let whole =
            all.iter().copied().filter(is_instruction).count() + all.iter().filter(is_missing).count();
        assert_eq!(known + missing, whole.min(*count), "{options} --last {count}");
    }
}

#[test]
fn the_last_of_all_sources() {
    for options in ["samples/threads", "samples/two-cores", "samples/threads --id 0x11", "samples/etrace"] {
        check_last(options, &[1, 2, 7, 40, 1_000_000]);
    }
    let table = run!("decode samples/threads --by-time --last 3 --format csv --instructions").out;
    assert_eq!(table.lines().filter(|line| line.contains(",instruction,")).count(), 3, "{table}");
    if let Some(captures) = captures_for("the_last_of_all_sources", "coresight/juno-uname-002") {
        check_last(text(&captures), &[100]);
    }
}

/// Sources are read one by one, which a pipe does not allow.
#[test]
fn pipes_are_refused() {
    let raw = "--packing coresight --source etm4,id=0x10";
    run!("decode /dev/null {raw} --by-time").ends(2).says("write the trace to one");
    run!("decode - {raw} --by-time").ends(2).says("write the trace to one");
}

/// Random trace units: with and without timestamps, which may go back.
#[test]
fn random_runs() {
    for seed in 0..2 {
        let mut rng = Rng::new(seed);
        let program = program::generate(&mut rng, 2000);
        let sources: Vec<_> = (0x10..0x13).map(|id| Source::random(&mut rng, &program, id, 10_000)).collect();
        let scratch = Scratch::new(&format!("by-time-{seed}"));
        let trace = frames(&sources, &mut rng);
        write_snapshot(scratch.path(), &program, &sources, Packing::CoreSight, &trace);
        let capture = text(scratch.path());
        check(&format!("{capture} --elements"));
        check(&format!("{capture} --from 0x800 --to 0x1000"));
    }
}

/// A core whose timestamps rise a little each time.
fn timed(rng: &mut Rng, program: &Program, id: u8) -> Source {
    let Run { registers, options, .. } = loop {
        let run = Run::random(rng, program, id, Reader::Any);
        // With timestamps, and without markers for them.
        if run.registers.trcconfigr >> 11 & 1 == 1 && run.registers.trcidr0 >> 23 & 1 == 0 {
            break run;
        }
    };
    let happenings = Happenings { exceptions: 100, timestamps: 20, ..Happenings::default() };
    let executed = Executor::new(program, Rng::new(rng.next_u64()), happenings).elements(5000);
    let mut encoder = Encoder::new(&registers, options).unwrap();
    let (mut bytes, mut now) = (Vec::new(), 1000);
    for mut element in executed {
        if let Element::Timestamp { value, .. } = &mut element {
            now += rng.below(50);
            *value = now;
        }
        encoder.element(&element, &mut bytes).unwrap();
    }
    Source { registers, bytes }
}

#[test]
fn cores_are_interleaved() {
    let mut rng = Rng::new(7);
    let program = program::generate(&mut rng, 2000);
    let sources: Vec<_> = (0x10..0x13).map(|id| timed(&mut rng, &program, id)).collect();
    let scratch = Scratch::new("by-time");
    write_snapshot(scratch.path(), &program, &sources, Packing::CoreSight, &frames(&sources, &mut rng));
    for options in ["--elements", "--blocks --from 0x100", "--id 0x10 --id 0x12"] {
        let changes = check(&format!("{} {options}", text(scratch.path())));
        assert!(changes > 50, "{options}: {changes}");
    }
}

#[test]
fn captures_of_chips() {
    let Some(captures) = captures_for("decode_by_time::captures_of_chips", "") else { return };
    let names = ["coresight/ts_marker", "coresight/ts_bit64_set", "coresight/juno_r1_1"];
    for name in names.into_iter().chain(["perf/ricsec_branches_trace1.data", "process/fib_trace1"]) {
        check(&captures.join(name).display().to_string());
    }
}
