//! Encoding and decoding reproduce random executions with traps, interrupts, changes of privilege and threads, and the cycles of their
//! branches, with random options, in any chunking. A naive twin of the decoder agrees.

use std::collections::HashMap;

use tracewright_core::{Block, Class, Element, Ended, Flow, MemorySpace};
use tracewright_flow::Instructions;
use tracewright_image::Image;
use tracewright_tacit::decode::{Decoder, Options};
use tracewright_tacit::encode::{Config, Encoder};
use tracewright_tacit::packet::Packet;
use tracewright_tacit::{Form, Mode, Params};
use tracewright_testkit::Rng;
use tracewright_testkit::riscv::walk::{Event, Happenings, Program, Trap, Walk};
use tracewright_testkit::tacit::{any_params, emitted};

use crate::naive::{Told, Twin};
use crate::support;

/// Item of comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happened {
    /// A block with its privilege, its address space in U, and the cycle in which it had retired if the trace tells.
    Block(Block, u8, Option<u32>, Option<u64>),
    /// A trap, and where and when it was taken.
    Trap { pc: Option<u64>, is_interrupt: bool, at: Option<u64> },
    /// The start of tracing.
    On,
    /// Anything else.
    Other(u64, Element),
}

/// Random program and encoder.
struct Case {
    program: Program,
    happenings: Happenings,
    instructions: u64,
    config: Config,
}

impl Case {
    fn new(rng: &mut Rng) -> Self {
        let program = Program::generate(rng);
        // Addresses of programs may need all bits.
        let params = Params { address_bits: 64, ..any_params(rng) };
        let often = |rng: &mut Rng| *rng.pick(&[0, 20, 100, 300, 2000]);
        let happenings = Happenings {
            interrupts: often(rng),
            faults: often(rng),
            wrong_returns: often(rng),
            contexts: often(rng),
            switches: often(rng),
            has_vectors: rng.one_in(2),
        };
        let (periodic, most_hits) = (*rng.pick(&[0, 1, 5, 100]), *rng.pick(&[1, 3, 64, 1 << 20]));
        let config = Config { periodic, most_hits, ..Config::new(params, program.isa) };
        config.check().unwrap();
        Self { program, happenings, instructions: 50 + rng.below(3000), config }
    }

    /// Runs the program. Returns what happened, and the packets.
    fn record(&self, rng: &mut Rng) -> (Vec<Happened>, Vec<Packet>) {
        let mut encoder = Encoder::new(self.config.clone());
        let (mut happened, mut packets) = (Vec::new(), Vec::new());
        let is_tagged = self.config.params.form != Form::Plain;
        let (mut privilege, mut context) = (0, 0);
        let mut cycles = rng.clone();
        let mut now = rng.sized(40);
        // Now and then a core waits for long.
        let wait = *rng.pick(&[0, 1000]);
        let mut walk = Walk::new(&self.program, Rng::new(rng.next_u64())).with(self.happenings);
        let mut is_on = false;
        walk.run(self.instructions, &mut |event| {
            let mut out = |packet: &Packet| packets.push(*packet);
            match *event {
                Event::Block(block) => {
                    if !std::mem::replace(&mut is_on, true) {
                        happened.push(Happened::On);
                    }
                    encoder.time(now);
                    now += u64::from(block.count) + cycles.below(80);
                    if wait > 0 && cycles.one_in(wait) {
                        now += cycles.sized(36);
                    }
                    encoder.block(&block, now, &mut out);
                    let space = (is_tagged && privilege == 0).then_some(context);
                    let level = if is_tagged { privilege } else { 0 };
                    happened.push(Happened::Block(block, level, space, Some(now)));
                }
                Event::Trap(Trap { pc, interrupt, .. }) => {
                    if !std::mem::replace(&mut is_on, true) {
                        happened.push(Happened::On);
                    }
                    now += cycles.below(80);
                    encoder.time(now);
                    encoder.trap(pc, interrupt, &mut out);
                    happened.push(Happened::Trap { pc: Some(pc), is_interrupt: interrupt, at: Some(now) });
                }
                Event::Privilege(level) => {
                    encoder.privilege(level);
                    privilege = level;
                }
                Event::Context { id, elsewhere } => {
                    if elsewhere {
                        encoder.stop(None, &mut out);
                        end(&mut happened);
                        is_on = false;
                    }
                    encoder.address_space(id.into());
                    context = id;
                }
            }
        });
        // Where the target is known, nothing is left out.
        let known = match happened.last() {
            Some(Happened::Block(block, ..)) if block.class.flow == Flow::Indirect && rng.one_in(2) => {
                Some(self.program.address)
            }
            _ => None,
        };
        encoder.stop(known, &mut |packet| packets.push(*packet));
        if known.is_none() {
            end(&mut happened);
        }
        (happened, packets)
    }

    fn image(&self) -> Image {
        support::image(self.program.address, self.program.bytes.clone())
    }

    /// Decodes a stream.
    fn decode(&self, image: &Image, bytes: &[u8], rng: &mut Rng) -> Vec<Happened> {
        let mut decoder = Decoder::new(&self.config.params, Options::default(), image, self.program.isa);
        let mut found = Vec::new();
        let (mut privilege, mut space, mut now, mut teller) = (0, None, None, 0);
        let mut sink = |offset: u64, element: &Element| match *element {
            Element::Block(block) => {
                let space = if privilege == 0 { space } else { None };
                found.push(Happened::Block(block, privilege, space, None));
            }
            Element::Context(to, _) => (privilege, space) = (to.level, to.context_id),
            Element::Exception(exception) => {
                assert_eq!((exception.number, exception.value), (u16::MAX, None));
                let is_interrupt = exception.interrupt;
                found.push(Happened::Trap { pc: exception.return_address, is_interrupt, at: None });
            }
            Element::Timestamp { value, cycles: None } => {
                assert!(now.is_none_or(|now| now == value), "{now:?} {value}");
                now = Some(value);
            }
            Element::Cycles(Some(cycles)) => {
                now = now.map(|now| now + u64::from(cycles));
                if let Some(Happened::Block(.., at) | Happened::Trap { at, .. }) = found.last_mut() {
                    // A packet may need several counts. The first packet after it tells.
                    if at.is_none() || teller == offset {
                        (*at, teller) = (now, offset);
                    }
                }
            }
            Element::TraceOn(_) => found.push(Happened::On),
            Element::End => {}
            other => found.push(Happened::Other(offset, other)),
        };
        support::feed(&mut decoder, rng.chunks(bytes), &mut sink);
        found
    }
}

/// Ends tracing: a branch, a jump or a trap after which nothing ran is not in the trace.
fn end(happened: &mut Vec<Happened>) {
    match happened.last_mut() {
        Some(Happened::Trap { .. }) => drop(happened.pop()),
        Some(Happened::Block(block, ..)) if block.ended == Ended::Taken => {
            (block.count, block.end) = (block.count - 1, block.last());
            (block.class, block.ended) = (Class::NEXT, Ended::Cut);
            if block.count == 0 {
                happened.pop();
            }
        }
        _ => {}
    }
}

/// Makes both alike where the trace does not tell: cycles of blocks that no packet with a time ends, and the length of the last instruction
/// of what was cut at the end.
fn settle(truth: &mut [Happened], found: &mut [Happened], mode: Mode) {
    for (truth, found) in truth.iter_mut().zip(found) {
        let (Happened::Block(truth, .., at), Happened::Block(block, .., told)) = (truth, found) else {
            continue;
        };
        if truth.ended == Ended::Cut {
            truth.last_len = block.last_len;
        }
        if truth.ended == Ended::Cut || mode == Mode::Predict && *told > *at {
            // A later packet tells that it had retired by then.
            assert!(told.is_none_or(|told| Some(told) >= *at));
            (*at, *told) = (None, None);
        } else if told.is_none() {
            *at = None;
        }
    }
}

/// Returns the first difference, with what is around it.
fn difference<T: PartialEq + std::fmt::Debug>(truth: &[T], found: &[T]) -> Option<String> {
    let at = (0..truth.len().max(found.len())).find(|&at| truth.get(at) != found.get(at))?;
    let near = |all: &[T]| {
        let lines = all.iter().skip(at.saturating_sub(3)).take(6).map(|happened| format!("{happened:x?}\n"));
        lines.collect::<String>()
    };
    Some(format!("{at} of {}:\n{}found, {}:\n{}", truth.len(), near(truth), found.len(), near(found)))
}

/// Seeds of the cases; `ROUND_TRIP_SEEDS=A-B` selects others.
const SEEDS: std::ops::Range<u64> = 0..2400;

fn seeds() -> std::ops::Range<u64> {
    let given = std::env::var("ROUND_TRIP_SEEDS").ok();
    let range = given.as_deref().and_then(|range| range.split_once('-'));
    range.map_or(SEEDS, |(from, to)| from.parse().unwrap()..to.parse().unwrap())
}

#[test]
fn what_is_encoded_is_decoded() {
    let (mut failures, mut blocks, mut timed) = (Vec::new(), 0, 0);
    for seed in seeds() {
        let mut rng = Rng::new(seed);
        let case = Case::new(&mut rng);
        let (mut truth, packets) = case.record(&mut rng);
        let bytes: Vec<u8> =
            packets.iter().flat_map(|packet| emitted(packet, &case.config.params).to_vec()).collect();
        let mut found = case.decode(&case.image(), &bytes, &mut rng);
        blocks += truth.len();
        timed += found.iter().filter(|found| matches!(found, Happened::Block(.., Some(_)))).count();
        settle(&mut truth, &mut found, case.config.params.mode);
        if let Some(difference) = difference(&truth, &found) {
            failures.push(format!("seed {seed}: {:?} {:?}\n{difference}", case.config, case.happenings));
        }
    }
    assert!(failures.is_empty(), "{} failed, the first:\n{}", failures.len(), failures[0]);
    assert!(blocks > 100_000 && timed > blocks / 2, "{timed} of {blocks}");
}

/// In the mode target the trace has the cycle of every block that a branch ends.
#[test]
fn all_cycles_are_in_the_trace() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut case = Case::new(&mut rng);
        case.config.params.mode = Mode::Target;
        let (truth, packets) = case.record(&mut rng);
        let bytes: Vec<u8> =
            packets.iter().flat_map(|packet| emitted(packet, &case.config.params).to_vec()).collect();
        for (truth, found) in truth.iter().zip(case.decode(&case.image(), &bytes, &mut rng)) {
            if let (Happened::Block(block, .., at), Happened::Block(.., found)) = (truth, found)
                && block.ended != Ended::Cut
            {
                assert_eq!(*at, found, "seed {seed}: {block:x?}");
            }
        }
    }
}

/// The naive twin tells the same instructions and the same cycles between them.
#[test]
fn the_naive_twin_agrees() {
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let case = Case::new(&mut rng);
        let (_, packets) = case.record(&mut rng);
        let params = &case.config.params;
        let mut twin = Twin {
            params,
            isa: case.program.isa,
            address: case.program.address,
            code: &case.program.bytes,
            pc: 0,
            time: 0,
            counters: HashMap::new(),
            told: Vec::new(),
        };
        packets.iter().for_each(|packet| twin.packet(packet));
        let image = case.image();
        let bytes: Vec<u8> = packets.iter().flat_map(|packet| emitted(packet, params).to_vec()).collect();
        let (mut found, mut now) = (Vec::new(), 0);
        for (_, element) in support::decode(&bytes, params, &image, case.program.isa) {
            match element {
                Element::Block(block) => {
                    let all = Instructions::new(&image, MemorySpace::ANY, &block);
                    found.extend(all.map(|instruction| Told::Instruction(instruction.address)));
                }
                Element::Cycles(cycles) => {
                    now += u64::from(cycles.unwrap());
                    found.push(Told::Cycle(now));
                }
                Element::Timestamp { value, .. } => {
                    now = value;
                    found.push(Told::Cycle(now));
                }
                _ => {}
            }
        }
        // Several counts in a row tell no more than the last.
        let settled = |mut told: Vec<Told>| {
            told.dedup_by(|next, last| match (&next, &mut *last) {
                (Told::Cycle(next), Told::Cycle(last)) => {
                    *last = *next;
                    true
                }
                _ => false,
            });
            told
        };
        assert_eq!(difference(&settled(twin.told), &settled(found)), None, "seed {seed}");
    }
}
