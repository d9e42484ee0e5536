//! OpenCSD (Debian's `trc_pkt_lister`, 1.3.3) on what our encoder writes: it must list exactly what was executed.
//!
//! Random programs run under several trace units at once, each with a random configuration of its own. Every range, exception,
//! context, timestamp, cycle count, event and overflow must come back, and nothing else; also when the trace is read from a
//! synchronisation point in its middle. What 1.3.3 tells in another way is in [`lister`], what it cannot do is in
//! [`Reader::OpenCsd133`].

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::support::Scratch;
use tracewright_core::{Element, Ended, TraceId};
use tracewright_etm::Protocol;
use tracewright_etm::packet::Kind;
use tracewright_frames::{Framer, Options};
use tracewright_input::SnapshotWriter;
use tracewright_input::{MemorySpace, Packing};
use tracewright_testkit::program::{self, Program};
use tracewright_testkit::{Reader, Rng, Run, lister, skip};

/// Snapshots, of four sources each.
const SNAPSHOTS: u64 = 60;

fn write_snapshot(dir: &Path, program: &Program, runs: &[Run], rng: &mut Rng) {
    let mut framer = Framer::new(Options::default());
    let mut frames = Vec::new();
    let id = |run: &Run| TraceId::new(run.registers.trctraceidr as u8).unwrap();
    let mut rest: Vec<(TraceId, &[u8])> = runs.iter().map(|run| (id(run), run.trace())).collect();
    while !rest.is_empty() {
        let i = rng.below(rest.len() as u64) as usize;
        let (id, bytes) = &mut rest[i];
        let (piece, after) = bytes.split_at(bytes.len().min(rng.sized(7) as usize));
        framer.push(*id, piece, &mut frames).unwrap();
        *bytes = after;
        if after.is_empty() {
            rest.remove(i);
        }
    }
    framer.flush(&mut frames);
    let mut writer = SnapshotWriter::create(dir).unwrap();
    let buffer = writer.buffer("ETB_0", Packing::CoreSight, &frames[..]).unwrap();
    for (i, run) in runs.iter().enumerate() {
        let ete = run.registers.protocol == Protocol::Ete;
        let (core, source) = if ete { ("ARM-AA64", "ETE") } else { ("Cortex-A53", "ETM4") };
        let core = writer.core(&format!("cpu_{i}"), core, &[]).unwrap();
        let dumps = if i == 0 { &program.segments[..] } else { &[] };
        for segment in dumps {
            writer.dump(core, segment.address, MemorySpace::ANY, &segment.bytes[..]).unwrap();
        }
        let values: Vec<_> = run.registers.named().map(|(name, value)| (name, value.into())).collect();
        let source = writer.source(&format!("ETM_{i}"), source, &values).unwrap();
        writer.connect(source, buffer, Some(core)).unwrap();
    }
    writer.finish().unwrap();
}

fn list(dir: &Path) -> String {
    let listing = Command::new("trc_pkt_lister")
        .args(["-ss_dir", dir.to_str().unwrap(), "-decode_only", "-src_addr_n", "-logstdout"])
        .current_dir(dir)
        .output()
        .unwrap();
    String::from_utf8_lossy(&listing.stdout).into_owned()
}

/// Whether a listing is of what was executed.
fn check(run: &Run, text: &str) -> Result<(), String> {
    let expected = lister::as_listed(&run.registers, run.executed.iter().copied());
    let listed = lister::elements(text, run.registers.trctraceidr as u8)?;
    let p0 = |element: &&Element| match element {
        Element::Block(block) => block.ended != Ended::Cut,
        element => matches!(element, Element::Exception(_)),
    };
    // What only cycle counts commit is missing at the end.
    let expected = match expected.split_at_checked(listed.len()) {
        Some((told, missing))
            if run.cycle_counts_commit()
                && missing.iter().filter(p0).count() <= run.registers.trcidr8 as usize =>
        {
            told
        }
        _ => &expected[..],
    };
    match (0..expected.len().max(listed.len())).find(|&i| listed.get(i) != expected.get(i)) {
        Some(i) => {
            let (listed, expected) = (listed.get(i), expected.get(i));
            Err(format!("element {i}:\n  executed {expected:x?}\n  listed   {listed:x?}"))
        }
        None => Ok(()),
    }
}

/// The law for the snapshot of a seed; gives the kinds of packets it had.
fn opencsd_agrees(seed: u64) -> Result<BTreeSet<Kind>, String> {
    let mut rng = Rng::new(seed);
    let size = 1 << (6 + rng.below(7));
    let program = program::generate(&mut rng, size);
    let runs = [0x10, 0x11, 0x12, 0x13].map(|id| Run::random(&mut rng, &program, id, Reader::OpenCsd133));
    let scratch = Scratch::new(&format!("encode-{seed}"));
    write_snapshot(scratch.path(), &program, &runs, &mut rng);
    let text = list(scratch.path());
    for run in &runs {
        let Run { registers, options, .. } = run;
        check(run, &text).map_err(|error| format!("seed {seed}, {registers:x?}, {options:?}: {error}"))?;
    }
    Ok(runs.iter().flat_map(Run::kinds).collect())
}

/// More than usual: `ENCODE_SEEDS=100-5000 cargo test -p tracewright-cli --test it encode`.
#[test]
fn opencsd_lists_what_was_executed() {
    if Command::new("trc_pkt_lister").arg("-h").current_dir(std::env::temp_dir()).output().is_err() {
        return skip(
            "opencsd_lists_what_was_executed",
            "trc_pkt_lister (Debian package libopencsd-bin) is not installed",
        );
    }
    let seeds = std::env::var("ENCODE_SEEDS").unwrap_or(format!("0-{SNAPSHOTS}"));
    let (from, to) = seeds.split_once('-').unwrap();
    let mut kinds = BTreeSet::new();
    for seed in from.parse().unwrap()..to.parse().unwrap() {
        kinds.extend(opencsd_agrees(seed).unwrap_or_else(|error| panic!("{error}")));
    }
    let expected = [
        Kind::Async,
        Kind::Overflow,
        Kind::TraceInfo,
        Kind::Timestamp,
        Kind::TraceOn,
        Kind::Exception,
        Kind::ExceptionReturn,
        Kind::CycleCountF2,
        Kind::CycleCountF1,
        Kind::CycleCountF3,
        Kind::Commit,
        Kind::CancelF1,
        Kind::CancelF1Mispredict,
        Kind::Mispredict,
        Kind::CancelF2,
        Kind::CancelF3,
        Kind::Event,
        Kind::Context,
        Kind::AddressContext32Is0,
        Kind::AddressContext64Is0,
        Kind::TimestampMarker,
        Kind::AddressExact,
        Kind::AddressShortIs0,
        Kind::Address32Is0,
        Kind::Address64Is0,
        Kind::SourceAddressExact,
        Kind::SourceAddressShortIs0,
        Kind::SourceAddress32Is0,
        Kind::AtomF1,
        Kind::AtomF2,
        Kind::AtomF3,
        Kind::AtomF4,
        Kind::AtomF5,
        Kind::AtomF6,
    ];
    assert_eq!(kinds, expected.into(), "kinds of packets");
}
