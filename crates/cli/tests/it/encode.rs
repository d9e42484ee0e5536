//! OpenCSD (Debian's `trc_pkt_lister`, 1.3.3) on what our encoder writes: it must list exactly what was executed.
//!
//! Random programs run under several trace units at once, each with a random configuration of its own. Every range, exception,
//! context, timestamp, cycle count, event and overflow must come back, and nothing else; also when the trace is read from a
//! synchronisation point in its middle. What 1.3.3 tells in another way is in [`lister`], what it cannot do is in
//! [`Reader::OpenCsd133`].

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::run::{seeds, text};
use crate::support::{Source, frames, write_snapshot};
use tracewright_core::{Element, Ended};
use tracewright_etm::packet::Kind;
use tracewright_input::Packing;
use tracewright_testkit::program;
use tracewright_testkit::{Reader, Rng, Run, Scratch, lister};

/// Snapshots, of four sources each.
const SNAPSHOTS: u64 = 60;

fn list(dir: &Path) -> String {
    let listing = Command::new("trc_pkt_lister")
        .args(["-ss_dir", text(dir), "-decode_only", "-src_addr_n", "-logstdout"])
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
    let source = |run: &Run| Source { registers: run.registers.clone(), bytes: run.trace().to_vec() };
    let sources: Vec<_> = runs.iter().map(source).collect();
    let trace = frames(&sources, &mut rng);
    write_snapshot(scratch.path(), &program, &sources, Packing::CoreSight, &trace);
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
    if !lister::available("opencsd_lists_what_was_executed") {
        return;
    }
    let mut kinds = BTreeSet::new();
    for seed in seeds("ENCODE_SEEDS", SNAPSHOTS) {
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
