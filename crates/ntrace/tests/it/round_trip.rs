//! Encoding and decoding reproduce random executions with traps, interrupts, changes of privilege and threads, with random options, in
//! any chunking.

use tracewright_core::{Block, Element, Isa, MemorySpace};
use tracewright_image::{Bytes, Image};
use tracewright_ntrace::decode::{Decoder, Options};
use tracewright_ntrace::encode::{Config, Encoder, Resync, SyncMode, Timestamps};
use tracewright_ntrace::packet::Packet;
use tracewright_ntrace::{Dialect, ImplicitReturn, Mode, Params};
use tracewright_testkit::Rng;
use tracewright_testkit::ntrace::any_params;
use tracewright_testkit::riscv::walk::{Event, Happenings, Program, Trap, Walk};

use crate::support::{emitted, feed};

/// Item of comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happened {
    /// A block, with its privilege and context.
    Block(Block, u8, Option<u32>),
    /// A trap, and where it was taken.
    Trap { pc: Option<u64>, is_interrupt: bool },
    /// The time of a message.
    Time(u64),
    /// Anything else.
    Other(u64, Element),
}

/// Random program and encoder.
struct Case {
    program: Program,
    happenings: Happenings,
    instructions: u64,
    config: Config,
    source: u16,
    /// Number of blocks between requested synchronisations, on average.
    requests: u64,
}

impl Case {
    fn new(rng: &mut Rng) -> Self {
        let program = Program::generate(rng);
        let mut params = any_params(rng);
        // A vendor's addresses have 48 bits of their own.
        if program.address >> 48 != 0 {
            params.dialect = Dialect::Standard;
        }
        // All targets in a program differ in these.
        if let ImplicitReturn::LowBits(bits) = &mut params.implicit_return {
            *bits = 24;
        }
        let often = |rng: &mut Rng| *rng.pick(&[0, 20, 100, 300, 2000]);
        let happenings = Happenings {
            interrupts: often(rng),
            faults: often(rng),
            wrong_returns: often(rng),
            contexts: 0,
            switches: often(rng),
            has_vectors: rng.one_in(2),
        };
        let modes = [SyncMode::Off, SyncMode::Messages, SyncMode::Cycles, SyncMode::HalfWords];
        let source = rng.below(1 << params.src_bits) as u16;
        let config = Config {
            repeated_history: rng.one_in(2),
            repeated_branch: rng.one_in(2),
            history_branches: 4 + rng.below(28) as u8,
            icnt_bits: *rng.pick(&[4, 6, 10, 22]),
            calls: rng.below(33) as u8,
            contexts: rng.one_in(2),
            trap_kinds: rng.one_in(2),
            timestamps: *rng.pick(&[Timestamps::Off, Timestamps::Syncs, Timestamps::All]),
            resync: Resync { mode: *rng.pick(&modes), max: rng.below(6) as u8 },
            first_sync: *rng.pick(&[1, 5]),
            omits_empty_history: rng.one_in(2),
            ..Config::new(params, program.isa)
        };
        config.check().unwrap();
        let requests = *rng.pick(&[0, 10, 100]);
        Self { program, happenings, instructions: 50 + rng.below(3000), config, source, requests }
    }

    /// Runs the program. Returns what happened, and the messages.
    fn record(&self, rng: &mut Rng) -> (Vec<Happened>, Vec<Vec<u8>>) {
        let mut encoder = Encoder::new(self.config.clone());
        let params = &self.config.params;
        let (mut happened, mut messages) = (Vec::new(), Vec::new());
        let (mut privilege, mut context, mut time) = (0, None, rng.sized(40));
        encoder.time(time);
        let mut times = Vec::new();
        let mut walk = Walk::new(&self.program, Rng::new(rng.next_u64())).with(self.happenings);
        let mut requests = rng.clone();
        walk.run(self.instructions, &mut |event| {
            let mut out = |packet: &Packet, timestamp: Option<u64>| {
                messages.push(emitted(packet, self.source, timestamp, params).to_vec());
                times.extend(timestamp.map(|_| Happened::Time(wrapped(time, params))));
            };
            match *event {
                Event::Block(block) => {
                    if self.requests > 0 && requests.one_in(self.requests) {
                        encoder.sync(6);
                    }
                    encoder.block(&block, &mut out);
                    time += u64::from(block.count);
                    encoder.time(time);
                    happened.push(Happened::Block(block, privilege, context));
                }
                Event::Trap(Trap { pc, interrupt, .. }) => {
                    encoder.trap(pc, interrupt, &mut out);
                    let is_interrupt = interrupt && self.config.trap_kinds;
                    happened.push(Happened::Trap { pc: Some(pc), is_interrupt });
                }
                Event::Privilege(now) => {
                    encoder.privilege(now, false);
                    privilege = if self.config.contexts { now } else { 0 };
                }
                Event::Context { id, elsewhere } => {
                    if elsewhere {
                        end(&mut encoder, &mut happened, &mut out);
                    }
                    encoder.context(Some(id.into()), None);
                    context = self.config.contexts.then_some(id);
                }
            }
        });
        let mut out = |packet: &Packet, timestamp: Option<u64>| {
            messages.push(emitted(packet, self.source, timestamp, params).to_vec());
            times.extend(timestamp.map(|_| Happened::Time(wrapped(time, params))));
        };
        end(&mut encoder, &mut happened, &mut out);
        happened.extend(times);
        (happened, messages)
    }

    /// Decodes a stream.
    fn decode(&self, bytes: &[u8], rng: &mut Rng) -> Vec<Happened> {
        let image = program_image(&self.program);
        let options = Options { source: Some(self.source), ..Options::default() };
        let mut decoder = Decoder::new(&self.config.params, options, &image, self.program.isa);
        let (mut found, mut times) = (Vec::new(), Vec::new());
        let (mut privilege, mut context) = (0, None);
        let mut sink = |offset: u64, element: &Element| match *element {
            Element::Block(block) => found.push(Happened::Block(block, privilege, context)),
            Element::Context(now, _) => (privilege, context) = (now.level, now.context_id),
            Element::Exception(exception) => {
                assert_eq!((exception.number, exception.value), (u16::MAX, None));
                let is_interrupt = exception.interrupt;
                found.push(Happened::Trap { pc: exception.return_address, is_interrupt });
            }
            Element::Timestamp { value, .. } => times.push(Happened::Time(value)),
            Element::TraceOn(_) | Element::End => {}
            other => found.push(Happened::Other(offset, other)),
        };
        feed(&mut decoder, rng.chunks(bytes), &mut sink);
        found.extend(times);
        found
    }
}

/// Ends tracing. A trap whose handler did not run is not in the trace.
fn end(encoder: &mut Encoder, happened: &mut Vec<Happened>, out: &mut impl FnMut(&Packet, Option<u64>)) {
    encoder.stop(4, out);
    if let Some(Happened::Trap { .. }) = happened.last() {
        happened.pop();
    }
}

fn wrapped(time: u64, params: &Params) -> u64 {
    time & (u64::MAX >> (64 - params.ts_width))
}

fn program_image(program: &Program) -> Image {
    let mut builder = Image::builder();
    builder.raw("code", Bytes::from(program.bytes.clone()), program.address, MemorySpace::ANY).unwrap();
    builder.build()
}

/// Returns the first difference, with what is around it.
fn difference(truth: &[Happened], found: &[Happened]) -> Option<String> {
    let at = (0..truth.len().max(found.len())).find(|&at| truth.get(at) != found.get(at))?;
    let near = |all: &[Happened]| {
        let lines = all.iter().skip(at.saturating_sub(3)).take(6).map(|happened| format!("{happened:x?}\n"));
        lines.collect::<String>()
    };
    Some(format!("{at} of {}:\n{}found, {}:\n{}", truth.len(), near(truth), found.len(), near(found)))
}

/// Seeds of the cases; `ROUND_TRIP_SEEDS=A-B` selects others.
const SEEDS: std::ops::Range<u64> = 0..2400;

#[test]
fn what_is_encoded_is_decoded() {
    let seeds = std::env::var("ROUND_TRIP_SEEDS").ok().and_then(|range| {
        let (from, to) = range.split_once('-')?;
        Some(from.parse().ok()?..to.parse().ok()?)
    });
    let mut failures = Vec::new();
    let mut blocks = 0;
    for seed in seeds.unwrap_or(SEEDS) {
        let mut rng = Rng::new(seed);
        let case = Case::new(&mut rng);
        let (truth, messages) = case.record(&mut rng);
        let found = case.decode(&messages.concat(), &mut rng);
        blocks += truth.len();
        if let Some(difference) = difference(&truth, &found) {
            failures.push(format!("seed {seed}: {:?} {:?}\n{difference}", case.config, case.happenings));
        }
    }
    assert!(failures.is_empty(), "{} failed, the first:\n{}", failures.len(), failures[0]);
    assert!(blocks > 100_000);
}

/// Sources that share a stream do not disturb each other.
#[test]
fn sources_are_apart() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed);
        let mut one = Case::new(&mut rng);
        (one.config.params.src_bits, one.source) = (3, 2);
        let config = one.config.clone();
        let other = Case { program: one.program.clone(), config, source: 5, ..Case::new(&mut rng) };
        let cases = [one, other];
        let recorded = [0, 1].map(|at: usize| cases[at].record(&mut rng));
        let mut queues = [0, 1].map(|at: usize| recorded[at].1.iter());
        let mut bytes = Vec::new();
        loop {
            let first = rng.below(2) as usize;
            let Some(message) = queues[first].next().or_else(|| queues[1 - first].next()) else { break };
            bytes.extend(message);
        }
        for (case, (truth, _)) in cases.iter().zip(&recorded) {
            let found = case.decode(&bytes, &mut rng);
            assert_eq!(difference(truth, &found), None, "seed {seed}");
        }
    }
}

/// After a loss, what is decoded has run, and nothing is missing from the next synchronisation on.
#[test]
fn losses_are_gaps() {
    let mut lost = 0;
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut case = Case::new(&mut rng);
        case.config.resync = Resync::default();
        let mut encoder = Encoder::new(case.config.clone());
        let (mut bytes, mut truth, mut breaks) = (Vec::new(), Vec::new(), Vec::new());
        let mut walk =
            Walk::new(&case.program, Rng::new(seed)).with(Happenings { switches: 0, ..case.happenings });
        walk.run(2000, &mut |event| {
            let mut out = |packet: &Packet, timestamp: Option<u64>| {
                bytes.extend(&emitted(packet, case.source, timestamp, &case.config.params)[..]);
            };
            match *event {
                Event::Block(block) => {
                    encoder.block(&block, &mut out);
                    truth.push(block);
                }
                Event::Trap(Trap { pc, interrupt, .. }) => encoder.trap(pc, interrupt, &mut out),
                _ => {}
            }
            if rng.one_in(200) {
                let before = bytes.len();
                encoder.lose(&mut |packet, timestamp| {
                    bytes.extend(&emitted(packet, case.source, timestamp, &case.config.params)[..]);
                });
                breaks.extend((bytes.len() > before).then_some(truth.len()));
            }
        });
        encoder.lose(&mut |packet, timestamp| {
            bytes.extend(&emitted(packet, case.source, timestamp, &case.config.params)[..]);
        });
        breaks.push(truth.len());
        let mut pieces = vec![Vec::new()];
        for happened in case.decode(&bytes, &mut rng) {
            match happened {
                Happened::Block(block, ..) => pieces.last_mut().unwrap().push(block),
                Happened::Other(_, Element::Lost(reason)) => {
                    assert_eq!(reason, tracewright_core::GapReason::Overflow, "seed {seed}");
                    pieces.push(Vec::new());
                }
                Happened::Other(_, Element::Gap { .. }) | Happened::Trap { .. } | Happened::Time(_) => {}
                other @ Happened::Other(..) => panic!("seed {seed}: {other:x?}"),
            }
        }
        // Each piece is the beginning of what ran between two losses. Its last block may be cut.
        let mut from = 0;
        for (piece, &to) in pieces.iter().zip(&breaks) {
            let ran = &truth[from..to];
            let whole = piece.len().saturating_sub(1);
            assert!(piece.len() <= ran.len() && piece[..whole] == ran[..whole], "seed {seed}");
            if let (Some(last), Some(ran)) = (piece.last(), ran.get(whole)) {
                assert!(
                    last.start == ran.start && last.count <= ran.count,
                    "seed {seed}: {last:x?} {ran:x?}"
                );
            }
            lost += ran.len() - piece.len();
            from = to;
        }
    }
    assert!(lost > 1000, "{lost}");
}

/// Programs of 32 and 64 bits are among the cases.
#[test]
fn cases_have_all_kinds() {
    let cases: Vec<_> = (0..100).map(|seed| Case::new(&mut Rng::new(seed))).collect();
    for isa in [Isa::Rv32, Isa::Rv64] {
        for mode in [Mode::Branch, Mode::History] {
            assert!(cases.iter().any(|case| (case.config.isa, case.config.params.mode) == (isa, mode)));
        }
    }
}
