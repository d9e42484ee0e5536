//! Trace through a port: what fits is all there; what is lost is counted, and both decoders tell the rest.

use tracewright_core::port::{Port, Rate, WhenFull};
use tracewright_core::{Element, GapReason, TraceOn};
use tracewright_etm::encode::AtPort;

use super::walk::Event;
use super::*;
use crate::port::PortRequest;

/// Random threads, a rate, and the smallest buffer that loses nothing.
fn random(seed: u64, dir: &Path) -> (Run, Rate, u64) {
    let mut rng = Rng::new(seed);
    let mut run = Run::random(&mut rng, seed.is_multiple_of(2));
    let rate = Rate::new(1, 1 + rng.below(9) as u32).unwrap();
    run.settings.port = Some(PortRequest { rate, limited: None });
    let report = run.write(&mut rng, dir).0.port.unwrap();
    (run, rate, report.smallest())
}

fn limit(run: &mut Run, rate: Rate, bits: u64, when_full: WhenFull) {
    run.settings.port = Some(PortRequest { rate, limited: Some(Port { rate, bits, when_full }) });
}

/// Blocks, exceptions, and where tracing goes on after an overflow.
fn told(elements: Vec<Element>) -> Vec<Element> {
    let told = |element: &Element| {
        let is_again = *element == Element::TraceOn(TraceOn::Overflow);
        matches!(element, Element::Block(_) | Element::Exception(_)) || is_again
    };
    elements.into_iter().filter(told).map(comparable).collect()
}

#[test]
fn the_smallest_buffer_is_exact() {
    for seed in 0..40 {
        let scratch = Scratch::new("smallest");
        let (mut run, rate, smallest) = random(seed, scratch.path());
        for when_full in [WhenFull::Drop, WhenFull::Stall] {
            let mut write = |bits| {
                limit(&mut run, rate, bits, when_full);
                run.write(&mut Rng::new(seed), scratch.path()).0.port.unwrap()
            };
            let enough = write(smallest);
            assert_eq!((enough.gaps.losses, enough.stats.stall_cycles), (0, 0), "seed {seed}");
            assert_eq!(enough.smallest(), smallest, "seed {seed}");
            let less = write(smallest - 1);
            assert!(less.gaps.losses > 0 || less.stats.stall_cycles > 0, "seed {seed}");
            assert_eq!(less.smallest(), smallest, "seed {seed}");
        }
    }
}

#[test]
fn what_is_lost_is_counted_and_the_rest_is_told() {
    let mut losses = 0;
    for seed in 0..120 {
        let scratch = Scratch::new("lost");
        let (mut run, rate, _) = random(seed, scratch.path());
        let bits = AtPort::LEAST + Rng::new(seed).below(300);
        limit(&mut run, rate, bits, WhenFull::Drop);
        let (traced, _) = run.write(&mut Rng::new(seed), scratch.path());
        let gaps = traced.port.unwrap().gaps;
        let (mut instructions, mut overflows) = (0, 0);
        for (thread, events) in run.threads.iter().enumerate() {
            let mut ran = events.iter().filter_map(|event| match event {
                Event::Block(block) => Some(*block),
                Event::Undecided(block, last_len) if block.count > 1 => {
                    let (end, count, class) = (block.last(), block.count - 1, Class::NEXT);
                    Some(Block { end, count, last_len: *last_len, class, ..*block })
                }
                _ => None,
            });
            for element in decoded(scratch.path(), thread).0 {
                match element {
                    Element::Block(block) => {
                        assert!(ran.any(|ran| ran == block), "seed {seed}, thread {thread}: {block:x?}");
                        instructions += u64::from(block.count);
                    }
                    Element::Lost(GapReason::Overflow) => overflows += 1,
                    Element::Exception(_) => {}
                    other => panic!("seed {seed}, thread {thread}: {other:?}"),
                }
            }
        }
        assert_eq!(Some(instructions + gaps.instructions), traced.instructions, "seed {seed}, {gaps:?}");
        assert_eq!(overflows, gaps.losses, "seed {seed}");
        losses += gaps.losses;
    }
    assert!(losses > 500, "{losses}");
}

#[test]
fn opencsd_goes_on_after_overflows() {
    let mut losses = 0;
    for seed in 0..30 {
        let scratch = Scratch::new("overflow");
        let (mut run, rate, _) = random(seed, scratch.path());
        let bits = AtPort::LEAST + Rng::new(seed).below(300);
        limit(&mut run, rate, bits, WhenFull::Drop);
        let (traced, _) = run.write(&mut Rng::new(seed), scratch.path());
        let list = |options| listed(scratch.path(), options);
        let (Some(packets), Some(text)) = (list(&[]), list(&["-decode_only"])) else {
            return skip("opencsd_goes_on_after_overflows", NO_LISTER);
        };
        let overflows = packets.lines().filter(|line| line.contains("I_OVERFLOW")).count() as u64;
        assert_eq!(overflows, traced.port.unwrap().gaps.losses, "seed {seed}");
        let capture = Capture::open(scratch.path()).unwrap();
        for thread in 0..run.threads.len() {
            let id = capture.sources[thread].id().unwrap();
            let theirs = told(lister::elements(&text, id.get()).unwrap());
            let ours = lister::as_listed(&run.settings.registers(id), all(scratch.path(), thread));
            assert_same(&theirs, &told(ours), &format!("seed {seed}, thread {thread}, {:?}", run.settings));
        }
        losses += overflows;
    }
    assert!(losses > 100, "{losses}");
}
