//! Cycles of instructions, beside those of the machine that ran them, and of OpenCSD.

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use crate::run::{
    ETRACE, address, cycles_and_addresses, elf, forget_checksums, number, ran, recorded, root, rows, run,
    sum, text, value, values,
};
use crate::support::delta::record;
use serde_json::Value;
use tracewright_testkit::{Scratch, captures_for, lister};

/// Records a program, with what the machine counted beside it.
fn record_timed(place: &Scratch, program: &str, model: &str, more: &str) -> Machine {
    let (dir, summary, listing) = (place.join("run"), place.join("summary.json"), place.join("listing"));
    let _ = fs::remove_dir_all(&dir);
    let program = elf(program);
    let files = format!("--summary-json {summary} --listing {listing}");
    let ran = run!("{ETRACE} {dir} --timing {model} {files} {more} {program}");
    // A program that was stopped has not failed.
    ran.ends(more.contains("--max-instructions").into());
    Machine { summary: value(&summary), ran: cycles_and_addresses(&fs::read_to_string(&listing).unwrap()) }
}

fn stalls(place: &Scratch) -> Value {
    run!("stalls {} --json", place.join("run")).ends(0).json()
}

fn decoded(place: &Scratch) -> Vec<Value> {
    let ran = run!("decode {} --instructions --json", place.join("run")).ends(0);
    values(&ran.out).filter(|row| row["kind"] == "instruction").collect()
}

/// What the machine itself says of a run.
struct Machine {
    summary: Value,
    /// The cycle and address of each instruction.
    ran: Vec<(u64, u64)>,
}

impl Machine {
    fn cycles(&self) -> u64 {
        number(&self.summary, "cycles")
    }

    fn instructions(&self) -> u64 {
        number(&self.summary, "instructions")
    }
}

const MODELS: [&str; 4] = ["rocket_like", "cva6_like", "dual_issue", "tiny"];

/// Options by which packets have the time.
const TIMES: &str = "--option notime=0 --option resync_mode=cycles --option resync_max=4";

/// What is told of the cycles is what the machine counted: in all, and of each instruction.
#[test]
fn cycles_are_the_machines() {
    let place = Scratch::new("stalls");
    for (program, model) in ["args", "divides", "traps", "tasks"].into_iter().zip(MODELS) {
        let machine = record_timed(&place, program, model, "--delta");
        let ran = &machine.ran;
        assert_eq!(ran.len() as u64, machine.instructions(), "{program}");
        // decode: each instruction has its cycle. The last one of a program without an operating system jumps to itself, and
        // E-Trace does not tell how often: that one may be unknown.
        let decoded = decoded(&place);
        assert_eq!(decoded.len(), ran.len(), "{program} {model}");
        let mut unknown = 0;
        for (at, (row, &(cycle, pc))) in decoded.iter().zip(ran).enumerate() {
            assert_eq!(address(row, "address"), pc, "{program} {model} {at}");
            match row["cycle"].as_u64() {
                Some(told) => assert_eq!(told, cycle, "{program} {model} {at}"),
                None => unknown += 1,
            }
        }
        let last_row = decoded.last().unwrap();
        assert!(unknown == 0 || unknown == 1 && last_row["cycle"].is_null(), "{program} {model}");
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
        for row in rows(&stalls, "code") {
            let pc = address(row, "address");
            let told = (number(row, "instructions"), number(row, "cycles"), number(row, "stall_cycles"));
            let untimed = u64::from(unknown == 1 && pc == address(last_row, "address"));
            let (retired, cycles, stalled) = expected.remove(&pc).unwrap_or_default();
            assert_eq!(told, (retired + untimed, cycles, stalled), "{program} {model} {pc:#x}");
        }
        assert!(expected.is_empty(), "{program}: instructions that stalls does not tell of");
        let source = &stalls["sources"][0];
        assert_eq!(number(source, "cycles"), machine.cycles(), "{program} {model}");
        assert_eq!(number(source, "instructions"), machine.instructions(), "{program} {model}");
    }
}

/// In every program, by every format and clock, no cycle is lost and none is made up.
#[test]
fn sums_are_the_machines_counter() {
    let place = Scratch::new("stalls");
    let bin = fs::read_dir(root().join("programs/bin")).unwrap();
    let programs =
        bin.filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".elf").map(str::to_owned));
    let mut programs: Vec<_> = programs.collect();
    programs.sort();
    let clocks = ["--delta", "--delta=abc", "--delta=abc,amortise=4", TIMES, "--option timestamp_bytes=8"];
    for (i, program) in programs.iter().enumerate() {
        let (model, clock) = (MODELS[i % MODELS.len()], clocks[i % clocks.len()]);
        let what = format!("{program} {model} {clock}");
        let how = format!("--timing {model} --max-instructions 300000 {clock}");
        let cycles = number(&record(&place, program, &how), "cycles");
        let stalls = stalls(&place);
        let source = &stalls["sources"][0];
        let told = number(source, "cycles");
        // What ran after the last time took nobody knows how long.
        let is_whole = source["clock"] == "delta" || source["instructions_without_cycles"] == 0;
        assert!(told <= cycles && (told == cycles || !is_whole), "{what}: {told} of {cycles}");
        for table in ["functions", "code"] {
            let sum = sum(rows(&stalls, table), "cycles");
            assert_eq!(sum, number(source, "instruction_cycles"), "{what} {table}");
        }
    }
    assert!(programs.len() >= 10, "only {programs:?}");
}

/// Times come with packets, not with instructions: the stalls that they tell are never more than there were.
#[test]
fn times_tell_no_more_stalls_than_there_were() {
    let record = |program: &str, clock: &str| {
        let place = Scratch::new("stalls");
        record_timed(&place, program, "rocket_like", &format!("--max-instructions 100000 {clock}"));
        stalls(&place)["sources"][0].clone()
    };
    for program in ["sort", "recursion", "tasks", "hash"] {
        for bytes in [8, 4] {
            let exact = record(program, "--delta");
            let told = record(program, &format!("--option notime=0 --option timestamp_bytes={bytes}"));
            let (least, all) = (number(&told, "stall_cycles"), number(&exact, "stall_cycles"));
            assert!(told["stall_cycles_lower_bound"] == true && exact["stall_cycles_lower_bound"] == false);
            assert!(least <= all && least > all / 2, "{program} {bytes}: {least} of {all}");
        }
    }
}

/// What waits in the programs that were made to wait is found, first of all.
#[test]
fn planted_waits_are_found() {
    let place = Scratch::new("stalls");
    for (program, function) in [("misses", "walk_scattered_list"), ("divides", "digits_by_division")] {
        for model in ["rocket_like", "cva6_like"] {
            for clock in ["--delta", "--option timestamp_bytes=8", TIMES] {
                record_timed(&place, program, model, clock);
                let stalls = stalls(&place);
                let what = format!("{program} {model} {clock}");
                let first = &stalls["functions"][0];
                assert_eq!(first["function"], function, "{what}");
                let all = number(&stalls["sources"][0], "stall_cycles");
                let part = number(first, "stall_cycles");
                assert!(2 * part > all, "{what}: {part} of {all}");
                assert_eq!(stalls["lines"][0]["function"], function, "{what}");
            }
        }
    }
}

/// Only what was traced has cycles; what lies between is told as a loss.
#[test]
fn what_is_not_traced_is_a_loss() {
    let place = Scratch::new("stalls");
    let Machine { ran, .. } = record_timed(&place, "recursion", "rocket_like", "--delta --when 'pc in main'");
    let decoded = decoded(&place);
    let mut all = ran.iter();
    for row in &decoded {
        let (cycle, pc) = (number(row, "cycle"), address(row, "address"));
        assert!(all.any(|&ran| ran == (cycle, pc)), "{pc:#x} did not retire in cycle {cycle}");
    }
    let stalls = stalls(&place);
    let source = &stalls["sources"][0];
    assert!(!decoded.is_empty() && decoded.len() < ran.len());
    assert_eq!(source["instructions"], decoded.len());
    assert!(number(source, "gaps") > 0);
    let last = &decoded.last().unwrap()["cycle"];
    assert_eq!(&source["cycles"], last, "up to the last instruction that was traced");
}

/// A delta trace with damage: cycles that are told are right, the others are not known.
#[test]
fn damage_costs_its_own_part() {
    let place = Scratch::new("stalls");
    let machine = record_timed(&place, "sort", "cva6_like", "--delta --max-instructions 60000");
    let ran = &machine.ran;
    // Without checksums, which would tell at once.
    forget_checksums(&place.join("run"));
    let path = place.join("run/delta.bin");
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
        for (row, &(cycle, _)) in decoded.iter().zip(ran) {
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
        let told = run!("stalls {} --json", place.join("run"))
            .ends(1)
            .says("its delta trace lacks the cycles of")
            .json();
        let source = &told["sources"][0];
        assert!(number(source, "cycles") <= machine.cycles(), "{what}");
        assert_eq!(source["instructions"], ran.len(), "{what}");
    }
}

/// The delta trace of another run is found out where its next sync is.
#[test]
fn another_runs_delta_trace_is_found_out() {
    let place = Scratch::new("stalls");
    let delta = place.join("run/delta.bin");
    record_timed(&place, "recursion", "rocket_like", "--delta");
    let other = fs::read(&delta).unwrap();
    let machine = record_timed(&place, "sort", "rocket_like", "--delta --max-instructions 60000");
    fs::write(&delta, other).unwrap();
    let ran = run!("stalls {} --json", place.join("run")).says("its delta trace lacks the cycles of");
    let stalls = ran.says("that the trace does not: are they of the same run?").json();
    let untimed = number(&stalls["sources"][0], "instructions_without_cycles");
    assert!(untimed > machine.instructions() / 2, "{untimed} of {}", machine.instructions());
}

/// Of a capture that tells no cycles, that is said, and what to do.
#[test]
fn without_a_clock() {
    let place = Scratch::new("stalls");
    let dir = recorded(&place, "args", "");
    run!("stalls {dir}").ends(2).says("nothing tells cycles here: record with --timing and --delta");
}

/// Where a filter leaves nothing, that is said, and nothing of what was left out is counted: neither instructions whose cycles are
/// not known, here for want of the right delta trace, nor stalls.
#[test]
fn a_filter_may_leave_nothing() {
    let place = Scratch::new("stalls");
    let dir = place.join("run");
    let nothing = |filter: &str| {
        let nothing = "nothing that ran is in the part that is asked for";
        run!("stalls {dir} {filter}").ends(1).says(nothing).prints("0  instructions, - cycles each");
        let stalls = run!("stalls {dir} {filter} --json").ends(1).says(nothing).json();
        let source = &stalls["sources"][0];
        for name in ["instructions", "instructions_without_cycles", "instruction_cycles", "stall_cycles"] {
            assert_eq!(number(source, name), 0, "{filter}: {name}");
        }
        assert_eq!(sum(rows(source, "histogram"), "stalls"), 0, "{filter}");
        assert!(rows(&stalls, "functions").is_empty(), "{filter}");
    };
    record_timed(&place, "recursion", "rocket_like", "--delta");
    let other = fs::read(place.join("run/delta.bin")).unwrap();
    record_timed(&place, "sort", "rocket_like", "--delta --max-instructions 60000");
    fs::write(place.join("run/delta.bin"), other).unwrap();
    nothing("--tid=1");
    nothing("--from-cycle=0xfffffffffffffffe");
    record_timed(&place, "sort", "rocket_like", &format!("{TIMES} --max-instructions 60000"));
    nothing("--tid=1");
    nothing("--from-cycle=0xfffffffffffffffe");
}

/// Pictures are written, and say the same.
#[test]
fn pictures_are_drawn() {
    let place = Scratch::new("stalls");
    record_timed(&place, "misses", "rocket_like", "--delta --max-instructions 200000");
    let (histogram, timeline) = (place.join("h.svg"), place.join("t.svg"));
    let dir = place.join("run");
    run!("stalls {dir} --histogram {histogram} --timeline {timeline}").ends(0);
    let source = &stalls(&place)["sources"][0];
    let histogram = fs::read_to_string(histogram).unwrap();
    let (_, told) = histogram.split_once("part of ").unwrap();
    let told: String = told.split_once(" stalls").unwrap().0.chars().filter(char::is_ascii_digit).collect();
    assert_eq!(told, sum(rows(source, "histogram"), "stalls").to_string());
    assert_eq!(sum(rows(source, "histogram"), "cycles"), number(source, "stall_cycles"));
    let timeline = fs::read_to_string(timeline).unwrap();
    assert!(timeline.contains("walk_scattered_list"), "{timeline}");
}

/// An ETM's cycle counts: their sum is the one of OpenCSD's cycle count elements.
#[test]
fn counts_are_those_that_opencsd_tells() {
    let test = "counts_are_those_that_opencsd_tells";
    let Some(folder) = captures_for(test, "coresight") else { return };
    if !lister::available(test) {
        return;
    }
    for name in ["maxspec0_commopt1", "src_addr", "texit-poe2"] {
        let dir = folder.join(name);
        let mut lister = Command::new("trc_pkt_lister");
        lister.args(["-decode_only", "-no_time_print", "-logstdout", "-multi_session", "-ss_dir"]);
        let listing = ran(lister.arg(&dir)).out;
        let count = |line: &str| {
            let (_, count) = line.split_once("OCSD_GEN_TRC_ELEM_CYCLE_COUNT( [CC=")?;
            count.split_once(']')?.0.parse::<u64>().ok()
        };
        let expected: u64 = listing.lines().filter_map(count).sum();
        let stalls = run!("stalls {} --json", text(&dir)).json();
        assert!(expected > 0, "{name}");
        assert_eq!(sum(rows(&stalls, "sources"), "cycles"), expected, "{name}");
    }
}
