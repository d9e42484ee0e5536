//! Cycles of instructions, beside those of the machine that ran them, and of OpenCSD.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{
    cycles_and_addresses, ends, good_or_bounded as good, root, stderr, stdout, text, tracewright, value,
    values,
};
use serde_json::Value;
use tracewright_testkit::{Scratch, captures_for, skip};

/// Records a program, with what the machine counted beside it.
fn record_timed(place: &Scratch, program: &str, model: &str, more: &[&str]) -> Machine {
    let (dir, summary, listing) = (place.join("run"), place.join("summary.json"), place.join("listing"));
    let _ = fs::remove_dir_all(&dir);
    let program = format!("programs/bin/{program}.elf");
    let mut arguments = vec!["record", "-q", "--protocol", "etrace", "--timing", model, "-o", &dir];
    arguments.extend(["--summary", &summary, "--listing", &listing]);
    arguments.extend(more);
    arguments.push(&program);
    let output = tracewright(&arguments);
    // A program that was stopped has not failed.
    let stopped = more.contains(&"--max-instructions");
    assert_eq!(output.status.code(), Some(stopped.into()), "{arguments:?}\n{}", stderr(&output));
    Machine { summary: value(&summary), listing: fs::read_to_string(&listing).unwrap() }
}

fn stalls(place: &Scratch) -> Value {
    serde_json::from_str(&good(&["stalls", &place.join("run"), "--json"]).0).unwrap()
}

fn decoded(place: &Scratch) -> Vec<Value> {
    let (text, _) = good(&["decode", &place.join("run"), "--instructions", "--json"]);
    values(&text).filter(|row| row["kind"] == "instruction").collect()
}

/// What the machine itself says of a run.
struct Machine {
    summary: Value,
    listing: String,
}

impl Machine {
    fn cycles(&self) -> u64 {
        self.summary["cycles"].as_u64().expect("cycles in the summary")
    }

    fn instructions(&self) -> u64 {
        self.summary["instructions"].as_u64().unwrap()
    }
}

fn sum(rows: &Value, field: &str) -> u64 {
    rows.as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).sum()
}

const MODELS: [&str; 4] = ["rocket_like", "cva6_like", "dual_issue", "tiny"];

/// What is told of the cycles is what the machine counted: in all, and of each instruction.
#[test]
fn cycles_are_the_machines() {
    let place = Scratch::new("stalls");
    for (program, model) in ["args", "divides", "traps", "tasks"].into_iter().zip(MODELS) {
        let machine = record_timed(&place, program, model, &["--delta"]);
        let ran = cycles_and_addresses(&machine.listing);
        assert_eq!(ran.len() as u64, machine.instructions(), "{program}");
        // decode: each instruction has its cycle. The last one of a program without an operating system jumps to itself, and
        // E-Trace does not tell how often: that one may be unknown.
        let decoded = decoded(&place);
        assert_eq!(decoded.len(), ran.len(), "{program} {model}");
        let mut unknown = 0;
        for (at, (row, &(cycle, pc))) in decoded.iter().zip(&ran).enumerate() {
            assert_eq!(row["pc"], format!("{pc:#x}"), "{program} {model} {at}");
            match row["cycle"].as_u64() {
                Some(told) => assert_eq!(told, cycle, "{program} {model} {at}"),
                None => unknown += 1,
            }
        }
        assert!(
            unknown == 0 || unknown == 1 && decoded.last().unwrap()["cycle"].is_null(),
            "{program} {model}"
        );
        let ran = &ran[..ran.len() - unknown];
        // stalls: the sums are those of a naive sum over the listing.
        let mut expected: HashMap<u64, (u64, u64, u64)> = HashMap::new();
        let mut last = ran[0].0 - 1;
        for &(cycle, pc) in ran {
            let cost = expected.entry(pc).or_default();
            cost.0 += 1;
            cost.1 += cycle - last;
            cost.2 += (cycle - last).saturating_sub(1);
            last = cycle;
        }
        let stalls = stalls(&place);
        for row in stalls["instructions"].as_array().unwrap() {
            let pc =
                u64::from_str_radix(row["address"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
            let number = |field: &str| row[field].as_u64().unwrap();
            let told = (number("instructions"), number("cycles"), number("stall_cycles"));
            let untimed = u64::from(unknown == 1 && format!("{pc:#x}") == decoded.last().unwrap()["pc"]);
            let (retired, cycles, stalled) = expected.remove(&pc).unwrap_or_default();
            assert_eq!(told, (retired + untimed, cycles, stalled), "{program} {model} {pc:#x}");
        }
        assert!(expected.is_empty(), "{program}: instructions that stalls does not tell of");
        let source = &stalls["sources"][0];
        assert_eq!(source["cycles"].as_u64(), Some(machine.cycles()), "{program} {model}");
        assert_eq!(source["instructions"].as_u64(), Some(machine.instructions()), "{program} {model}");
    }
}

/// In every program, by every format and clock, no cycle is lost and none is made up.
#[test]
fn sums_are_the_machines_counter() {
    let place = Scratch::new("stalls");
    let bin = root().join("programs/bin");
    let mut programs: Vec<_> = fs::read_dir(bin)
        .unwrap()
        .filter_map(|entry| {
            entry.unwrap().path().file_name()?.to_str()?.strip_suffix(".elf").map(str::to_owned)
        })
        .collect();
    programs.sort();
    let clocks: [&[&str]; 5] = [
        &["--delta"],
        &["--delta=abc"],
        &["--delta=abc,amortise=4"],
        &["--option", "notime=0", "--option", "resync_mode=cycles", "--option", "resync_max=4"],
        &["--option", "timestamp_bytes=8"],
    ];
    let mut checked = 0;
    for (i, program) in programs.iter().enumerate() {
        let (model, clock) = (MODELS[i % MODELS.len()], clocks[i % clocks.len()]);
        let dir = place.join("run");
        let summary = place.join("summary.json");
        let _ = fs::remove_dir_all(&dir);
        let path = format!("programs/bin/{program}.elf");
        let mut arguments = vec!["record", "-q", "--protocol", "etrace", "--timing", model, "-o", &dir];
        arguments.extend(["--summary", &summary, "--max-instructions", "300000"]);
        arguments.extend(clock);
        arguments.push(&path);
        let ran = tracewright(&arguments);
        let Ok(text) = fs::read_to_string(&summary) else {
            panic!("{program}: {}", stderr(&ran));
        };
        let machine: Value = serde_json::from_str(&text).unwrap();
        let stalls = stalls(&place);
        let source = &stalls["sources"][0];
        let cycles = machine["cycles"].as_u64().unwrap();
        let told = source["cycles"].as_u64().unwrap();
        // What ran after the last time took nobody knows how long.
        let is_whole = source["clock"] == "delta" || source["instructions_without_cycles"] == 0;
        assert!(
            told <= cycles && (told == cycles || !is_whole),
            "{program} {model} {clock:?}: {told} of {cycles}"
        );
        for rows in ["functions", "instructions"] {
            let sum = sum(&stalls[rows], "cycles");
            assert_eq!(
                Some(sum),
                source["instruction_cycles"].as_u64(),
                "{program} {model} {clock:?} {rows}"
            );
        }
        checked += 1;
    }
    assert!(checked >= 10, "only {checked} programs");
}

/// Times come with packets, not with instructions: the stalls that they tell are never more than there were.
#[test]
fn times_tell_no_more_stalls_than_there_were() {
    let stalls = |place: &Scratch| stalls(place)["sources"][0].clone();
    let number = |source: &Value, name: &str| source[name].as_u64().unwrap();
    for program in ["sort", "recursion", "tasks", "hash"] {
        for bytes in ["8", "4"] {
            let place = Scratch::new("stalls");
            let limit = ["--max-instructions", "100000"];
            record_timed(&place, program, "rocket_like", &[&limit[..], &["--delta"]].concat());
            let exact = stalls(&place);
            let timestamps = format!("timestamp_bytes={bytes}");
            let times = ["--option", "notime=0", "--option", &timestamps];
            record_timed(&place, program, "rocket_like", &[&limit[..], &times].concat());
            let told = stalls(&place);
            let (least, all) = (number(&told, "stall_cycles"), number(&exact, "stall_cycles"));
            assert!(told["stall_cycles_are_least"] == true && exact["stall_cycles_are_least"] == false);
            assert!(least <= all && least > all / 2, "{program} {bytes}: {least} of {all}");
        }
    }
}

/// What waits in the programs that were made to wait is found, first of all.
#[test]
fn planted_waits_are_found() {
    let place = Scratch::new("stalls");
    let planted = [("misses", "walk_scattered_list"), ("divides", "digits_by_division")];
    let clocks: [&[&str]; 3] = [
        &["--delta"],
        &["--option", "timestamp_bytes=8"],
        &["--option", "notime=0", "--option", "resync_mode=cycles", "--option", "resync_max=4"],
    ];
    for (program, function) in planted {
        for model in ["rocket_like", "cva6_like"] {
            for clock in clocks {
                record_timed(&place, program, model, clock);
                let stalls = stalls(&place);
                let first = &stalls["functions"][0];
                assert_eq!(first["function"], function, "{program} {model} {clock:?}");
                let all = stalls["sources"][0]["stall_cycles"].as_u64().unwrap();
                let part = first["stall_cycles"].as_u64().unwrap();
                assert!(2 * part > all, "{program} {model} {clock:?}: {part} of {all}");
                assert_eq!(stalls["lines"][0]["function"], function, "{program} {model} {clock:?}");
            }
        }
    }
}

/// Only what was traced has cycles; what lies between is told as a loss.
#[test]
fn what_is_not_traced_is_a_loss() {
    let place = Scratch::new("stalls");
    let machine = record_timed(&place, "recursion", "rocket_like", &["--delta", "--when", "pc in main"]);
    let ran = cycles_and_addresses(&machine.listing);
    let decoded = decoded(&place);
    let mut all = ran.iter();
    for row in &decoded {
        let pc = u64::from_str_radix(row["pc"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
        let cycle = row["cycle"].as_u64().expect("an exact cycle");
        assert!(all.any(|&ran| ran == (cycle, pc)), "{pc:#x} did not retire in cycle {cycle}");
    }
    let stalls = stalls(&place);
    let source = &stalls["sources"][0];
    assert!(!decoded.is_empty() && decoded.len() < ran.len());
    assert_eq!(source["instructions"].as_u64(), Some(decoded.len() as u64));
    assert!(source["losses"].as_u64().unwrap() > 0);
    let last = decoded.last().unwrap()["cycle"].as_u64();
    assert_eq!(source["cycles"].as_u64(), last, "up to the last instruction that was traced");
}

/// A delta trace with damage: cycles that are told are right, the others are not known.
#[test]
fn damage_costs_its_own_part() {
    let place = Scratch::new("stalls");
    let machine = record_timed(&place, "sort", "cva6_like", &["--delta", "--max-instructions", "60000"]);
    let ran = cycles_and_addresses(&machine.listing);
    let path = Path::new(&place.join("run")).join("delta.bin");
    // Without checksums, which would tell at once.
    let toml = path.with_file_name("capture.toml");
    let text = fs::read_to_string(&toml).unwrap().replace("checksums = \"checksums.toml\"\n", "");
    fs::write(&toml, text).unwrap();
    let whole = fs::read(&path).unwrap();
    for (what, bytes) in [
        ("cut", whole[..whole.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("damaged", whole.iter().enumerate().map(|(i, &b)| if i % 3001 == 2000 { !b } else { b }).collect()),
    ] {
        fs::write(&path, bytes).unwrap();
        let decoded = decoded(&place);
        assert_eq!(decoded.len(), ran.len(), "{what}");
        let mut known = 0;
        for (row, &(cycle, _)) in decoded.iter().zip(&ran) {
            match row["cycle"].as_u64() {
                Some(told) => {
                    assert_eq!(told, cycle, "{what}");
                    known += 1;
                }
                None => assert!(row["cycle"].is_null()),
            }
        }
        assert!(known < ran.len(), "{what}");
        assert_eq!(known == 0, what == "empty", "{what}: {known} of {}", ran.len());
        let source = &stalls(&place)["sources"][0];
        assert!(source["cycles"].as_u64().unwrap() <= machine.cycles(), "{what}");
        assert_eq!(source["instructions"].as_u64(), Some(ran.len() as u64), "{what}");
    }
}

/// The delta trace of another run is found out where its next sync is.
#[test]
fn another_runs_delta_trace_is_found_out() {
    let place = Scratch::new("stalls");
    record_timed(&place, "recursion", "rocket_like", &["--delta"]);
    let other = fs::read(Path::new(&place.join("run")).join("delta.bin")).unwrap();
    let machine = record_timed(&place, "sort", "rocket_like", &["--delta", "--max-instructions", "60000"]);
    fs::write(Path::new(&place.join("run")).join("delta.bin"), other).unwrap();
    let output = tracewright(&["stalls", &place.join("run"), "--json"]);
    let stderr = stderr(&output);
    assert!(stderr.contains("its delta trace lacks the cycles of"), "{stderr}");
    assert!(stderr.contains("that the trace does not: are they of the same run?"), "{stderr}");
    let stalls: Value = serde_json::from_slice(&output.stdout).unwrap();
    let untimed = stalls["sources"][0]["instructions_without_cycles"].as_u64().unwrap();
    assert!(untimed > machine.instructions() / 2, "{untimed} of {}", machine.instructions());
}

/// Of a capture that tells no cycles, that is said, and what to do.
#[test]
fn without_a_clock() {
    let place = Scratch::new("stalls");
    let dir = place.join("run");
    good(&["record", "-q", "--protocol", "etrace", "-o", &dir, "programs/bin/args.elf"]);
    let (_, text) = ends(2, &["stalls", &dir]);
    assert!(text.contains("nothing tells cycles here: record with --timing and --delta"), "{text}");
}

/// Pictures are written, and say the same.
#[test]
fn pictures_are_drawn() {
    let place = Scratch::new("stalls");
    record_timed(&place, "misses", "rocket_like", &["--delta", "--max-instructions", "200000"]);
    let (histogram, timeline) = (place.join("h.svg"), place.join("t.svg"));
    good(&["stalls", &place.join("run"), "--histogram", &histogram, "--timeline", &timeline]);
    let source = &stalls(&place)["sources"][0];
    let histogram = fs::read_to_string(histogram).unwrap();
    let stalls = sum(&source["histogram"], "stalls");
    let (_, told) = histogram.split_once("part of ").unwrap();
    let told: String = told.split_once(" stalls").unwrap().0.chars().filter(char::is_ascii_digit).collect();
    assert_eq!(told, stalls.to_string());
    assert_eq!(sum(&source["histogram"], "cycles"), source["stall_cycles"].as_u64().unwrap());
    let timeline = fs::read_to_string(timeline).unwrap();
    assert!(timeline.contains("walk_scattered_list"), "{timeline}");
}

/// An ETM's cycle counts: their sum is the one of OpenCSD's cycle count elements.
#[test]
fn counts_are_those_that_opencsd_tells() {
    let Some(folder) = captures_for("counts_are_those_that_opencsd_tells", "") else { return };
    let mut checked = 0;
    for name in ["maxspec0_commopt1", "src_addr", "texit-poe2"] {
        let dir = folder.join("coresight").join(name);
        let lister = Command::new("trc_pkt_lister")
            .args(["-decode_only", "-no_time_print", "-logstdout", "-multi_session", "-ss_dir"])
            .arg(&dir)
            .output();
        let Ok(lister) = lister else {
            return skip("counts_are_those_that_opencsd_tells", "no trc_pkt_lister");
        };
        let listing = stdout(&lister);
        let count = |line: &str| {
            let (_, count) = line.split_once("OCSD_GEN_TRC_ELEM_CYCLE_COUNT( [CC=")?;
            count.split_once(']')?.0.parse::<u64>().ok()
        };
        let expected: u64 = listing.lines().filter_map(count).sum();
        let stalls: Value =
            serde_json::from_slice(&tracewright(&["stalls", text(&dir), "--json"]).stdout).unwrap();
        let told: u64 = sum(&stalls["sources"], "cycles");
        assert!(expected > 0, "{name}");
        assert_eq!(told, expected, "{name}");
        checked += 1;
    }
    assert_eq!(checked, 3);
}
