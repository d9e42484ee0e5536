//! Damaged captures: reported with the place, read on after, exit status 1; never a panic.

use std::fs;
use std::io::Write;

use crate::run::{Ran, command, piped, ran, root, run};
use tracewright_testkit::{Rng, Scratch};

/// The sources of the sample.
pub const SOURCES: &str = "--source \
    etm4,id=0x10,core=Cortex-A53,TRCCONFIGR=0x18d1,TRCIDR0=0x28000ea1,TRCIDR1=0x4100f422 \
    --source ete,id=0x11,TRCCONFIGR=0x1801,TRCIDR0=0x28800ea1,TRCDEVARCH=0x47735a13";

fn sample() -> Vec<u8> {
    fs::read(root().join("samples/two-cores/buffer_0.bin")).unwrap()
}

/// Runs the command with trace bytes as standard input.
fn given(bytes: &[u8], line: &str) -> Ran {
    let mut child = piped(line);
    // It may have seen enough before all is written.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    Ran::new(line.into(), child.wait_with_output().unwrap())
}

/// Runs a verb on the bytes of two sources.
fn run(verb: &str, format: &str, bytes: &[u8]) -> Ran {
    given(bytes, &format!("{verb} - --packing {format} {SOURCES}"))
}

#[test]
fn good_bytes_by_pipe_are_good() {
    let listed = run!("packets samples/two-cores --id 0x11").good();
    assert_eq!(run("packets", "coresight --id 0x11", &sample()).good(), listed);
}

#[test]
fn a_truncated_file_says_where_it_ends() {
    let bytes = sample();
    let ran = run("packets", "coresight", &bytes[..bytes.len() - 5]).ends(1);
    ran.prints("Lost: 11 bytes, input ends inside a frame");
}

#[test]
fn a_bad_frame_costs_what_comes_before_the_next_sync() {
    let mut bytes = sample();
    // 0xff at an even position is ID 0x7f, which no source has.
    bytes[64] = 0xff;
    let ran = run("packets", "coresight", &bytes).ends(1);
    let ran = ran.prints("0x40  --").prints("source ID 0x7f inside a frame").prints("Not Synchronised");
    // The second A-Sync of source 0x10 brings it back.
    ran.prints("0xf2  0x10  0d ff");
}

/// What perf writes between two recordings.
fn barrier() -> Vec<u8> {
    [0xff, 0xff, 0xff, 0x7f].repeat(4)
}

#[test]
fn a_perf_barrier_separates_two_recordings() {
    let ran = run("packets", "coresight", &[sample(), barrier(), sample()].concat());
    // The first source has an overflow in each.
    let ran = ran.ends(1).says("2 packets report lost trace");
    assert_eq!(ran.out.matches("A-Sync\n").count(), 6);
    ran.prints("0x100  --                       Barrier");
}

#[test]
fn the_wrong_format_is_told() {
    // A trace port's stream taken for memory-aligned frames.
    let mut bytes = vec![0xff, 0xff, 0xff, 0x7f];
    bytes.extend(sample());
    let told = run("packets", "coresight", &bytes).ends(1).out;
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the input seems to be a stream with syncs"), "{words}");
    run("packets", "fsync --id 0x11", &bytes).ends(0);
}

#[test]
fn nothing_panics() {
    let mut rng = Rng::new(1);
    for _ in 0..60 {
        let mut bytes = sample();
        for _ in 0..rng.below(20) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
        }
        bytes.truncate(rng.below(300) as usize);
        for format in ["coresight", "fsync", "hsync", "dstream"] {
            for verb in ["packets", "stats"] {
                run(verb, format, &bytes).ends_within(0..=2);
            }
        }
    }
}

#[test]
fn a_closed_pipe_is_quiet() {
    let mut child = piped(format_args!("packets - --packing coresight {SOURCES}"));
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    // Enough output that it must notice; it may stop reading before we stop writing.
    let _ = (0..2000).try_for_each(|_| stdin.write_all(&sample()));
    drop(stdin);
    let ran = Ran::new("packets".into(), child.wait_with_output().unwrap()).ends(0);
    assert_eq!(ran.err, "");
}

/// An A-Sync and a Trace Info, then `rest`.
fn stream(rest: &[u8]) -> Vec<u8> {
    [&[0; 11][..], &[0x80, 0x01, 0x00], rest].concat()
}

/// Runs `packets` on one unframed source.
fn run_source(bytes: &[u8], more: &str) -> Ran {
    given(bytes, &format!("packets - --packing source --source etm4,id=0x22 {more}"))
}

#[test]
fn what_is_unfinished_at_the_end_has_its_offset() {
    let unfinished = stream(&[0xf7, 0xf7, 0x9a, 0x01]);
    run_source(&unfinished, "")
        .ends(1)
        .says("ends inside a message (2 bytes, from 0x10 on)")
        .prints("0x10  0x22  9a 01");
    let bad = stream(&[0xf7, 0x08, 0x11, 0x11, 0x11, 0, 0, 0]);
    run_source(&bad, "").ends(1).prints("0x10  0x22                     Not Synchronised: 6 bytes skipped");
    let opencsd = run_source(&unfinished, "--style opencsd");
    opencsd.prints("Idx:16; ID:0; [0x9a 0x01 ];\tI_INCOMPLETE_EOT");
}

#[test]
fn bytes_that_nothing_can_be_made_of_are_an_error() {
    run_source(&[0x11; 500], "").ends(2).says("source0 (ID 0x22): no A-Sync in 500 bytes");
    run_source(&[], "").ends(2).says("is empty");
    run("stats", "fsync", &sample()).ends(2).says("no frame sync in 256 bytes");
}

#[test]
fn packets_and_stats_agree_on_what_is_damage() {
    // Frames without an ID after each barrier: nobody's bytes, but no damage.
    let mut bytes = sample();
    bytes.extend([barrier(), vec![0; 16]].concat().repeat(8));
    run("packets", "coresight --id 0x11", &bytes).ends(0);
    run("stats", "coresight --id 0x11", &bytes).ends(0);
}

#[test]
fn an_id_nobody_has_is_a_usage_error() {
    let refused = run_source(&stream(&[]), "--id 16").ends(2);
    assert_eq!(refused.err, "tracewright: no source has trace ID 0x10; there are 0x22\n");
}

/// What reads the trace twice says so before it begins.
#[test]
fn what_reads_twice_takes_no_pipe() {
    for verb in [
        "profile - --calls",
        "profile - --format tree",
        "profile - --format folded",
        "timeline - -o -",
        "annotate - main",
    ] {
        let said = given(&sample(), &format!("{verb} --packing coresight {SOURCES}"));
        said.ends(2).says("give a file, not a pipe").says_not("nothing could be read");
    }
    given(&sample(), &format!("profile - --packing coresight {SOURCES}")).says_not("not a pipe");
}

/// What to type where frames begin later is right for a file whose name has blanks, and for one that is compressed.
#[test]
fn what_to_try_fits_the_name_and_the_compression() {
    let place = Scratch::new("damage");
    let shifted = [&[0x55; 9][..], &sample()].concat();
    let file = place.write("my dump.bin", &shifted);
    let said = ran(command("info").arg(&file)).ends(0).out.replace("\\\n", "");
    assert!(said.contains("my dump.bin' | tracewright"), "{said}");
    assert!(said.contains("tail -c +10 '"), "{said}");
    let mut gzip = std::process::Command::new("gzip");
    if gzip.arg("-k").arg(&file).status().is_ok_and(|status| status.success()) {
        let said = ran(command("info").arg(place.join("my dump.bin.gz"))).ends(0).out.replace("\\\n", "");
        assert!(said.contains("gzip -dc '") && said.contains("my dump.bin.gz' | tail -c +10"), "{said}");
    }
}
