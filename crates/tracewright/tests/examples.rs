//! The examples run, and say what they should.

use std::path::{Path, PathBuf};
use std::process::Command;

use tracewright_testkit::Scratch;

/// Runs an example on files of the repository, or on files with whole paths. Returns what it printed.
fn run(example: &str, files: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let test = std::env::current_exe().unwrap();
    // target/debug/deps/examples-1234 -> target/debug/examples/NAME
    let program = test.ancestors().nth(2).unwrap().join("examples").join(example);
    let files: Vec<PathBuf> = files.iter().map(|file| root.join(file)).collect();
    let output = Command::new(program).args(files).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn last_instructions_lists_twenty_of_each_source() {
    let text = run("last_instructions", &["samples/threads"]);
    let ids: Vec<&str> = text.lines().map(|line| &line[..2]).collect();
    assert_eq!(ids.len(), 40, "{text}");
    assert!(ids[..20].iter().all(|id| *id == ids[0]) && ids[20..].iter().all(|id| *id == ids[20]), "{text}");
    assert_ne!(ids[0], ids[20]);
}

#[test]
fn llvm_profile_is_that_of_the_program() {
    let text = run("llvm_profile", &["samples/perf/perf.data", "samples/hello"]);
    // The number of ranges, and each as first-last:count.
    let ranges: usize = text.lines().next().unwrap().parse().unwrap();
    assert!(ranges > 3 && text.lines().skip(1).take(ranges).all(|line| line.contains('-')), "{text}");
}

#[test]
fn edge_map_has_the_edges_of_the_run() {
    let text = run("edge_map", &["samples/etrace"]);
    let edges: usize = text.split(' ').next().unwrap().parse().unwrap();
    assert!((10..1 << 16).contains(&edges), "{text}");
}

#[test]
fn block_lengths_add_up_to_the_run() {
    let text = run("block_lengths", &["samples/etrace"]);
    let numbers = |line: &str| -> Vec<u64> { line.split(' ').filter_map(|word| word.parse().ok()).collect() };
    let instructions: u64 = text.lines().map(|line| numbers(line).iter().product::<u64>()).sum();
    let trace = tracewright::Trace::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/etrace"));
    assert_eq!(instructions, trace.unwrap().profile().unwrap().tally.instructions);
}

#[test]
fn record_stalls_finds_the_function_that_waits() {
    let scratch = Scratch::new("record-stalls");
    let folder = scratch.join("run");
    let text = run("record_stalls", &["programs/bin/misses.elf", &folder]);
    // The program prints something, too.
    let row = |line: &str| {
        let (cycles, function) = line.trim().split_once(' ')?;
        Some((cycles.parse::<u64>().ok()?, function.to_owned()))
    };
    assert_eq!(text.lines().filter_map(row).max().unwrap().1, "walk_scattered_list", "{text}");
}

/// What a core retired: a branch that is taken, one that is not, a call, an exception.
const RETIRED: &str = "itype_0,cause,tval,priv,iaddr_0,context,ctype,iretire_0,ilastsize_0
0,0,0,3,80000000,0,0,1,1
5,0,0,3,80000004,0,0,1,1
4,0,0,3,80000010,0,0,1,1
8,0,0,3,80000014,0,0,1,1
0,0,0,3,80000100,0,0,1,1
1,2,13,3,80000104,0,0,0,1
0,0,0,3,80000200,0,0,1,1
";

/// Its trace after 31 idle packets: alignment, support, start, branches, exception, support.
const TRACE: &[u8] = b"\x80\x05\x1f\x1c\x51\xe9\x07\
    \x09\x73\0\0\0\0\0\0\0\x20\
    \x0a\x09\x01\x02\0\0\0\0\0\0\xfc\
    \x0f\x77\0\0\0\0\x41\x80\0\0\x20\0\0\0\xc0\x04\
    \x05\x8f\x1c\x51\xe9\x07";

#[test]
fn encode_csv_compares_bytes() {
    let scratch = Scratch::new("encode-csv");
    let (csv, given) = (scratch.join("retired.csv"), scratch.join("trace.bin"));
    std::fs::write(&csv, RETIRED).unwrap();
    std::fs::write(&given, [&[0; 31], TRACE].concat()).unwrap();
    let text = run("encode_csv", &[&csv, &given]);
    assert_eq!(text, "6 instructions in 81 bytes\n");
}
