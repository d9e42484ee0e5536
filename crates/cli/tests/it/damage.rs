//! Damaged captures: reported with the place, read on after, exit status 1; never a panic.

use std::fs;
use std::io::Write;
use std::process::Output;

use crate::run::{piped, root, stderr, stdout, tracewright};
use tracewright_testkit::Rng;

const SOURCES: [&str; 4] = [
    "--source",
    "etm4,id=0x10,core=Cortex-A53,TRCCONFIGR=0x18d1,TRCIDR0=0x28000ea1,TRCIDR1=0x4100f422",
    "--source",
    "ete,id=0x11,TRCCONFIGR=0x1801,TRCIDR0=0x28800ea1,TRCDEVARCH=0x47735a13",
];

fn sample() -> Vec<u8> {
    fs::read(root().join("samples/two-cores/buffer_0.bin")).unwrap()
}

/// Runs a verb on trace bytes given by standard input.
fn run(verb: &str, format: &str, bytes: &[u8]) -> Output {
    run_with(&[&[verb, "-", "--packing", format][..], &SOURCES].concat(), bytes)
}

fn run_with(args: &[&str], bytes: &[u8]) -> Output {
    let mut child = piped(args);
    // It may have seen enough before all is written.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    child.wait_with_output().unwrap()
}

#[test]
fn good_bytes_by_pipe_are_good() {
    let output = run("packets", "coresight", &sample());
    assert_eq!(output.status.code(), Some(0));
    let listed = tracewright(&["packets", "samples/two-cores"]);
    assert_eq!(stdout(&output), stdout(&listed));
}

#[test]
fn a_truncated_file_says_where_it_ends() {
    let bytes = sample();
    let output = run("packets", "coresight", &bytes[..bytes.len() - 5]);
    assert_eq!(output.status.code(), Some(1));
    let last = stdout(&output);
    assert!(last.contains("Lost: 11 bytes, input ends inside a frame"), "{last}");
}

#[test]
fn a_bad_frame_costs_what_comes_before_the_next_sync() {
    let mut bytes = sample();
    // 0xff at an even position is ID 0x7f, which no source has.
    bytes[64] = 0xff;
    let output = run("packets", "coresight", &bytes);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(text.contains("0x40  --"), "{text}");
    assert!(text.contains("source ID 0x7f inside a frame"), "{text}");
    assert!(text.contains("Not Synchronised"), "{text}");
    // The second A-Sync of source 0x10 brings it back.
    assert!(text.contains("0xf2  10  0d ff"), "{text}");
}

#[test]
fn a_perf_barrier_separates_two_recordings() {
    let mut bytes = sample();
    bytes.extend([0xff, 0xff, 0xff, 0x7f].repeat(4));
    bytes.extend(sample());
    let output = run("packets", "coresight", &bytes);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert_eq!(stdout(&output).matches("A-Sync\n").count(), 6);
    assert!(stdout(&output).contains("0x100  --                     Barrier"), "{}", stdout(&output));
}

#[test]
fn the_wrong_format_is_told() {
    // A trace port's stream taken for memory-aligned frames.
    let mut bytes = vec![0xff, 0xff, 0xff, 0x7f];
    bytes.extend(sample());
    let output = run("packets", "coresight", &bytes);
    assert_eq!(output.status.code(), Some(1));
    let words = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the input seems to be a stream with syncs"), "{words}");
    assert_eq!(run("packets", "fsync", &bytes).status.code(), Some(0));
}

#[test]
fn nothing_panics() {
    let mut rng = Rng::new(1);
    for round in 0..60 {
        let mut bytes = sample();
        for _ in 0..rng.below(20) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
        }
        bytes.truncate(rng.below(300) as usize);
        for format in ["coresight", "fsync", "hsync", "dstream"] {
            for verb in ["packets", "stats"] {
                let output = run(verb, format, &bytes);
                let stderr = stderr(&output);
                assert!(matches!(output.status.code(), Some(0 | 1)), "round {round} {format}: {stderr}");
            }
        }
    }
}

#[test]
fn a_closed_pipe_is_quiet() {
    let mut child = piped(&[&["packets", "-", "--packing", "coresight"][..], &SOURCES].concat());
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    // Enough output that it must notice; it may stop reading before we stop writing.
    let _ = (0..2000).try_for_each(|_| stdin.write_all(&sample()));
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &stderr(&output)[..]), (Some(0), ""));
}

/// An A-Sync and a Trace Info, then `rest`.
fn stream(rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 11];
    bytes.extend([0x80, 0x01, 0x00]);
    bytes.extend(rest);
    bytes
}

/// Runs `packets` on one unframed source.
fn run_source(bytes: &[u8], more: &[&str]) -> Output {
    run_with(
        &[&["packets", "-", "--packing", "source", "--source", "etm4,id=0x22"][..], more].concat(),
        bytes,
    )
}

#[test]
fn what_is_unfinished_at_the_end_has_its_offset() {
    let output = run_source(&stream(&[0xf7, 0xf7, 0x9a, 0x01]), &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("0x10  22  9a 01"), "{}", stdout(&output));
    let output = run_source(&stream(&[0xf7, 0x08, 0x11, 0x11, 0x11, 0, 0, 0]), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).contains("0x10  22                     Not Synchronised: 6 bytes skipped"),
        "{}",
        stdout(&output)
    );
    let output = run_source(&stream(&[0xf7, 0xf7, 0x9a, 0x01]), &["--style", "opencsd"]);
    assert!(stdout(&output).contains("Idx:16; ID:0; [0x9a 0x01 ];\tI_INCOMPLETE_EOT"), "{}", stdout(&output));
}

#[test]
fn bytes_that_nothing_can_be_made_of_are_an_error() {
    let stderr = |output: &Output| String::from_utf8(output.stderr.clone()).unwrap();
    let output = run_source(&[0x11; 500], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("source0 (ID 0x22): no A-Sync in 500 bytes"), "{}", stderr(&output));
    let output = run_source(&[], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is empty"), "{}", stderr(&output));
    let output = run("stats", "fsync", &sample());
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no frame sync in 256 bytes"), "{}", stderr(&output));
}

#[test]
fn packets_and_stats_agree_on_what_is_damage() {
    // Frames without an ID after each barrier: nobody's bytes, but no damage.
    let mut bytes = sample();
    for _ in 0..8 {
        bytes.extend([0xff, 0xff, 0xff, 0x7f].repeat(4));
        bytes.extend([0; 16]);
    }
    assert_eq!(run("packets", "coresight", &bytes).status.code(), Some(0));
    assert_eq!(run("stats", "coresight", &bytes).status.code(), Some(0));
}

#[test]
fn an_id_nobody_has_is_a_usage_error() {
    let output = run_source(&stream(&[]), &["--id", "16"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "tracewright: no source has trace ID 0x10; there are 0x22\n");
}
