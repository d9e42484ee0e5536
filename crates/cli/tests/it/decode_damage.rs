//! Damaged trace is decoded up to the damage and from a synchronisation point after it, however many threads do it.

use std::fs;
use std::ops::Range;

use crate::run::{number, run, text, values};
use crate::support::{Source, decode, frames, write_snapshot};
use tracewright_input::Packing;
use tracewright_testkit::{Rng, Scratch, program};

/// What is printed: file offset and the rest of the line.
type Lines = Vec<(u64, String)>;

/// Decodes on one thread and on four; must say the same, and never panic.
fn lines(scratch: &Scratch, what: &str) -> Lines {
    let [one, four] = [1, 4].map(|jobs| decode(scratch.path(), "--elements --json", jobs));
    let [one, four] = [one, four].map(|ran| ran.ends_within(0..=2).says_not("panicked"));
    let is_same = (one.status, &one.out, &one.err) == (four.status, &four.out, &four.err);
    assert!(is_same, "{what}: one thread and four differ; {:?}", scratch.path());
    let line = |line: &str| {
        let (_, rest) = line.split_once(r#""offset":"#).unwrap();
        let (offset, rest) = rest.split_once(',').unwrap();
        (offset.parse().unwrap(), rest.to_owned())
    };
    // The first line, and the last one if something is missing, are no elements.
    one.out.lines().filter(|line| !line.contains(r#""kind":"tracewright""#)).map(line).collect()
}

/// What is said from an offset on, offsets counted from there. Not the end, and not a gap that ends there: they tell
/// of what was before. No timestamps either: they may have to wait for a marker.
fn from(lines: &Lines, start: usize, id: Option<u8>) -> Lines {
    let id = id.map(|id| format!(r#""id":{id},"#));
    let mut after = Vec::new();
    for (offset, rest) in lines {
        let Some(offset) = offset.checked_sub(start as u64) else { continue };
        let is = |kind: &str| rest.contains(&format!(r#""kind":"{kind}""#));
        let before = is("end") || offset == 0 && is("gap");
        if id.as_ref().is_none_or(|id| rest.starts_with(id)) && !before && !is("timestamp") {
            // Gaps tell offsets; of an overflow it is told where trace goes on, if that was damaged the next time.
            let rest = [r#","from":"#, r#","overflow":"#]
                .iter()
                .fold(&rest[..], |rest, field| rest.split_once(field).map_or(rest, |(rest, _)| rest));
            after.push((offset, rest.to_owned()));
        }
    }
    after
}

fn check(what: &str, damaged: &Lines, good: &Lines) {
    let differs = (0..damaged.len().max(good.len())).find(|&i| damaged.get(i) != good.get(i));
    if let Some(i) = differs {
        panic!("{what}: line {i}:\n  damaged {:?}\n  good    {:?}", damaged.get(i), good.get(i));
    }
}

/// Where the A-Syncs are in a source's bytes.
fn syncs(bytes: &[u8]) -> Vec<usize> {
    bytes
        .windows(12)
        .enumerate()
        .filter(|(_, window)| window[11] == 0x80 && window[..11] == [0; 11])
        .map(|(at, _)| at)
        .collect()
}

/// One way to damage bytes in a range: what is there now, and by how much the rest has moved.
fn damage(rng: &mut Rng, bytes: &mut Vec<u8>, range: Range<usize>) -> (&'static str, isize) {
    let at = range.start + rng.below(range.len() as u64) as usize;
    let len = (1 + rng.sized(5) as usize).min(range.end - at);
    match rng.below(4) {
        0 => {
            bytes[at] ^= 1 << rng.below(8);
            ("a bit turned", 0)
        }
        1 => {
            let random = rng.bytes(len);
            bytes[at..at + len].copy_from_slice(&random);
            ("bytes overwritten", 0)
        }
        2 => {
            bytes.drain(at..at + len);
            ("bytes dropped", -(len as isize))
        }
        _ => {
            let again = bytes[at..at + len].to_vec();
            bytes.splice(at..at, again);
            ("bytes twice", len as isize)
        }
    }
}

/// A source's own bytes.
#[test]
fn a_source_recovers() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed);
        let program = program::generate(&mut rng, 1000);
        let source = [Source::random(&mut rng, &program, 0x10, 15_000)];
        let scratch = Scratch::new(&format!("recovers-{seed}"));
        let bytes = &source[0].bytes;
        write_snapshot(scratch.path(), &program, &source, Packing::Source, bytes);
        let good = lines(&scratch, "good");
        let syncs = syncs(bytes);
        let Some(last) = syncs.len().checked_sub(3) else { continue };
        // Anywhere between two synchronisation points; the one after it may be taken for something else.
        let hit = rng.below(last as u64 + 1) as usize;
        let mut bytes = bytes.clone();
        let (what, moved) = damage(&mut rng, &mut bytes, syncs[hit]..syncs[hit + 1]);
        fs::write(scratch.path().join("buffer_0.bin"), &bytes).unwrap();
        let what = format!("seed {seed}: {what} after {:#x} {:x?}", syncs[hit], source[0].registers);
        let damaged = lines(&scratch, &what);
        let second = syncs[hit + 2];
        check(&what, &from(&damaged, second.wrapping_add_signed(moved), None), &from(&good, second, None));
        // Before it all is as it was, but for the last few packets: what comes next decides whether they happened.
        if source[0].registers.trcidr8 == 0 {
            let before = |lines: &Lines| {
                let lines = lines.iter().filter(|(offset, _)| *offset < syncs[hit] as u64);
                lines.cloned().collect::<Lines>()
            };
            let (mut damaged, mut good) = (before(&damaged), before(&good));
            assert!(damaged.len() + 4 >= good.len(), "{what}: {} lines before it", damaged.len());
            let sure = damaged.len().saturating_sub(4);
            damaged.truncate(sure);
            good.truncate(sure);
            check(&format!("before: {what}"), &damaged, &good);
        }
    }
}

/// Bytes of frames, which may go to the wrong source.
#[test]
fn all_sources_of_a_buffer_recover() {
    for seed in 0..12 {
        let mut rng = Rng::new(1000 + seed);
        let program = program::generate(&mut rng, 1000);
        let sources: Vec<_> = (0x10..0x13).map(|id| Source::random(&mut rng, &program, id, 15_000)).collect();
        let scratch = Scratch::new(&format!("buffer-recovers-{seed}"));
        let trace = frames(&sources, &mut rng);
        write_snapshot(scratch.path(), &program, &sources, Packing::CoreSight, &trace);
        let good = lines(&scratch, "good");
        let syncs = file_syncs(&scratch);
        for round in 0..4 {
            let mut bytes = trace.clone();
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << rng.below(8);
            fs::write(scratch.path().join("buffer_0.bin"), &bytes).unwrap();
            let what = format!("seed {seed}, round {round}: a bit turned at {at:#x}");
            let damaged = lines(&scratch, &what);
            for source in &sources {
                let id = source.registers.trctraceidr as u8;
                // A byte of the next frame may be among those gone to the wrong source.
                let after = |(offset, of): &&(u64, u8)| *of == id && *offset > at as u64 + 32;
                let Some(&(second, _)) = syncs.iter().filter(after).nth(1) else { continue };
                let [damaged, good] = [&damaged, &good].map(|lines| from(lines, second as usize, Some(id)));
                check(&format!("{what}, ID {id:#x} {:x?}", source.registers), &damaged, &good);
            }
        }
    }
}

/// File offset and trace ID of all A-Syncs.
fn file_syncs(scratch: &Scratch) -> Vec<(u64, u8)> {
    let packets = run!("packets {} --json", text(scratch.path())).out;
    let syncs = values(&packets).filter(|packet| packet["kind"] == "A-Sync");
    syncs.map(|packet| (number(&packet, "offset"), number(&packet, "id") as u8)).collect()
}
