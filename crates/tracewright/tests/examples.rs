//! The examples run, and say what they should.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs an example on files of the repository. Returns what it printed.
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
