//! TACIT, as people and scripts make and read it: what was recorded and encoded, damage, and wrong parameters. No recording of hardware
//! exists: all of these are of our encoder.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use tracewright_testkit::{Scratch, has_programs};

use crate::run::{elf, run, values};

const TACIT: &str = "record -q --protocol tacit -o";

/// Options that change what packets there are, and how they are written.
const MIXES: &[&str] = &[
    "",
    "periodic=20",
    "form=rtl asid_bits=10 periodic=7",
    "form=plain address_bits=64",
    "mode=predict",
    "mode=predict entries=64 most_hits=3 form=plain",
    "mode=predict entries=256 form=rtl periodic=9",
];

fn options(mix: &str) -> String {
    mix.split_whitespace().map(|option| format!(" --option {option}")).collect()
}

/// Records a program with a log. Returns the capture and the log.
fn recorded(place: &Scratch, name: &str, more: &str) -> (String, String) {
    let [capture, log] = [name, "run.log"].map(|name| place.join(name));
    run!("{TACIT} {capture} --log {log} {more}").ends(0);
    (capture, log)
}

/// What was recorded is what ran, whatever the options: Linux programs, bare ones with traps and tasks, RV32.
#[test]
fn every_mix_of_options_tells_what_ran() {
    let place = Scratch::new("tacit");
    for program in ["args", "semihosting32", "traps", "jumps", "tasks32"] {
        for mix in MIXES {
            let (capture, log) = recorded(&place, "run", &format!("{} {}", options(mix), elf(program)));
            // Where the run ends in a loop without a branch, a predicting encoder has no packet for its last turn.
            if mix.contains("predict") && ["traps", "tasks32"].contains(&program) {
                let parted = run!("decode {capture} --check {log}").ends(1).out;
                assert!(parted.contains("the trace ends, the log goes on"), "{parted}");
                let logged = parted.lines().filter(|line| line.starts_with("  log  ")).count();
                assert_eq!(logged, 3, "{parted}");
                continue;
            }
            run!("decode {capture} --check {log}").ends(0).begins("equal: ");
            run!("decode {capture} --jobs 4 --check {log}").ends(0).begins("equal: ");
        }
    }
}

/// The verbs count what ran.
#[test]
fn verbs_read_what_was_recorded() {
    let place = Scratch::new("tacit");
    let (capture, log) = recorded(&place, "run", &format!("{} 300", elf("sort")));
    let equal = run!("decode {capture} --check {log}").good();
    let count = equal.strip_prefix("equal: ").unwrap().split(' ').next().unwrap();
    let profile = run!("profile {capture} --json").ends(0);
    assert!(profile.out.contains(&format!("\"instructions\":{count}")), "{}", profile.out);
    run!("profile {capture} --calls").ends(0).prints("CPI");
    run!("coverage {capture} --file sort.c").ends(0).prints("sort.c");
    run!("timeline {capture} -o {}", place.join("timeline.json")).ends(0);
    run!("annotate {capture} sift_down").ends(0);
    run!("info {capture}").ends(0).prints("TACIT messages").prints("address_bits");
    // Every byte belongs to a packet.
    let size = fs::metadata(format!("{capture}/trace.bin")).unwrap().len();
    run!("stats {capture}").ends(0).prints(format!("{size} bytes, 100.0%"));
    let packets = run!("packets {capture} --json").good();
    let bytes: usize =
        values(&packets).filter_map(|packet| packet["hex"].as_str().map(|hex| hex.len() / 2)).sum();
    assert_eq!(bytes as u64, size);
    for (verb, option) in
        [("decode", "--no-image"), ("decode", "--style opencsd"), ("packets", "--style opencsd")]
    {
        run!("{verb} {capture} {option}").ends(2).says("TACIT");
    }
    run!("{TACIT} {capture} --option x=1 {}", elf("sort")).ends(2).says("there is no option \"x\" for TACIT");
    run!("{TACIT} {capture} --timing default --delta {}", elf("sort")).ends(2).says("TACIT");
    run!("{TACIT} {capture} --ring 4K {}", elf("sort")).ends(2).says("first byte");
    let far = format!("--option address_bits=32 {}", elf("sort"));
    run!("{TACIT} {} {far}", place.join("far")).ends(0);
}

/// Cycles of functions are those that retirement-delta trace of the same run has, up to blocks that two functions share.
#[test]
fn cycles_are_those_of_the_timing_model() {
    let place = Scratch::new("tacit");
    let program = format!("{} 300", elf("sort"));
    let [tacit, exact] = ["tacit", "exact"].map(|name| place.join(name));
    run!("{TACIT} {tacit} --timing default {program}").ends(0);
    run!("record -q --timing default --delta -o {exact} {program}").ends(0);
    let functions = |capture: &str| {
        let stalls: Value = serde_json::from_str(&run!("stalls {capture} --json").good()).unwrap();
        let rows = stalls["functions"].as_array().unwrap().iter();
        let cycles = |row: &Value| Some((row["function"].as_str()?.to_owned(), row["cycles"].as_u64()?));
        rows.filter_map(cycles).collect::<BTreeMap<_, _>>()
    };
    let (found, expected) = (functions(&tacit), functions(&exact));
    assert!(expected.len() > 5, "{expected:?}");
    let sum = |all: &BTreeMap<String, u64>| all.values().sum::<u64>();
    // The trace starts with the first instruction, whose own wait it does not have.
    assert!(sum(&expected).abs_diff(sum(&found)) < 200, "{} {}", sum(&expected), sum(&found));
    for (name, cycles) in expected.iter().filter(|(_, cycles)| **cycles > 10_000) {
        let differs = found.get(name).copied().unwrap_or(0).abs_diff(*cycles);
        assert!(differs * 100 < *cycles, "{name}: {cycles}, {found:?}");
    }
}

/// What was recorded and what a log of it gives is the same trace, byte by byte.
#[test]
fn a_log_gives_the_trace_of_its_program() {
    let place = Scratch::new("tacit");
    let program = elf("semihosting");
    let (capture, log) = recorded(&place, "run", &program);
    let encoded = place.join("encoded");
    run!("encode -q --protocol tacit {log} -o {encoded} --image {program}").ends(0);
    let [expected, found] = [&capture, &encoded].map(|dir| fs::read(format!("{dir}/trace.bin")).unwrap());
    assert!(expected.len() > 1000 && expected == found);
}

/// Threads under QEMU are sources.
#[test]
fn programs_under_qemu_are_traced() {
    if !has_programs("programs_under_qemu_are_traced", &["qemu-riscv64"]) {
        return;
    }
    let place = Scratch::new("tacit");
    let more = format!("--option address_bits=57 --qemu {} 50", elf("sort"));
    let (capture, log) = recorded(&place, "run", &more);
    run!("decode {capture} --check {log}").ends(0).begins("thread0: equal: ");
}

/// Damage ends the trace, since nothing tells where packets begin. A trace without its first bytes is not read.
#[test]
fn damage_is_a_gap_to_the_end() {
    let place = Scratch::new("tacit");
    let (capture, _) = recorded(&place, "run", &format!("--option periodic=50 {} 300", elf("sort")));
    let file = format!("{capture}/trace.bin");
    let good = fs::read(&file).unwrap();
    let all = run!("decode {capture}").good();
    // 0x1a is no first byte of any packet.
    let mut damaged = good.clone();
    let at = good.len() / 2;
    damaged.splice(at..at, [0x1a; 12]);
    fs::write(&file, &damaged).unwrap();
    let [one, four] = [1, 4].map(|jobs| run!("decode {capture} --jobs {jobs}").ends(1).says("1 gap"));
    assert_eq!((&one.out, &one.err), (&four.out, &four.err));
    let before = one.out.lines().take_while(|line| all.lines().any(|other| other == *line)).count();
    assert!(before > all.lines().count() / 4 && before < all.lines().count(), "{before}");
    run!("packets {capture}").ends(1);
    run!("profile {capture}").ends(1);
    fs::write(&file, &good[9..]).unwrap();
    run!("decode {capture}").ends_within(1..=2).says("its first bytes are missing");
    fs::write(&file, &good[..good.len() / 2]).unwrap();
    let cut = run!("decode {capture}").ends_within(0..=1);
    assert!(cut.out.lines().count() > all.lines().count() / 4);
}

/// `info` finds the parameters in the bytes alone, and what is wrong with others is said.
#[test]
fn parameters_are_recognised() {
    let place = Scratch::new("tacit");
    let image = format!("--image {}@10000", elf("sort"));
    for mix in ["", "periodic=90", "form=rtl periodic=90", "form=plain", "mode=predict entries=256"] {
        let (capture, log) = recorded(&place, "run", &format!("{} {} 100", options(mix), elf("sort")));
        let trace = format!("{capture}/trace.bin");
        let info = run!("info {trace}").ends(0).prints("TACIT: ").out;
        let options =
            info.lines().find_map(|line| line.trim().strip_prefix("try ")).unwrap().trim().to_owned();
        run!("decode {trace} {options} {image} --check {log}").ends(0).begins("equal: ");
    }
    let (capture, _) = recorded(&place, "run", &format!("--option mode=predict {} 100", elf("sort")));
    let wrong = format!("{capture}/trace.bin --source tacit,isa=rv64");
    run!("decode {wrong} {image}").ends(1).says("mode must be predict");
    let other = format!("{capture}/trace.bin --source tacit,isa=rv64,mode=predict,entries=64 {image}");
    run!("decode {other}").ends(1).says("entries");
    run!("decode {capture}/trace.bin --source tacit {image}").ends(2).says("isa");
}
