//! Executions drawn by lot, traced by both: what the delta trace tells, and whether it and E-Trace find each other.

use tracewright_core::Block;
use tracewright_core::port::{Port, Rate, WhenFull};
use tracewright_delta::{Config, Cycles, Decoder, Item, Stamp, Why};
use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{Content, Message, Parser};
use tracewright_hart::HartSink;
use tracewright_testkit::Rng;
use tracewright_testkit::riscv::walk::{Event, Program, Walk};

use super::{DeltaSettings, DeltaTraced, synchronises};
use crate::etrace::tests::{happenings, options, tell};
use crate::etrace::{Asking, Finished, Settings, Tracer, WithoutCode};
use crate::port::PortRequest;
use crate::protocol::Traced;

/// An execution, and how it is traced.
struct Case {
    settings: Settings,
    /// With the cycles of a block's instructions.
    events: Vec<(Vec<u64>, Event)>,
    instructions: u64,
    last: u64,
    rate: Rate,
}

/// What was written.
struct Written {
    trace: Vec<u8>,
    delta: Vec<u8>,
    traced: Traced,
    told: DeltaTraced,
}

const OPTIONS: &[&[&str]] = &[
    &["implicit_return=off"],
    &["branch_prediction=off"],
    &["jump_target_cache=off"],
    &["full_address=on"],
    &["resync_mode=packets", "resync_mode=half_words", "resync_mode=cycles", "resync_mode=off"],
    &["resync_max=0", "resync_max=2", "resync_max=5"],
    &["encapsulation=smi", "encapsulation=pulp"],
];

impl Case {
    fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let program = Program::generate(&mut rng);
        let options = options(&mut rng, OPTIONS);
        let width = 1 + rng.below(4) as u8;
        let exact = if width == 1 && rng.one_in(2) { Config::ac() } else { Config::de(width) };
        let config = if rng.one_in(3) { Config::abc(width).amortising(rng.below(3) as u32) } else { exact };
        let delta = Some(DeltaSettings { config, is_gapless: true });
        let mut settings = Settings::new(program.isa).with_delta(delta).with(&options).unwrap();
        let happenings = happenings(&mut rng, &mut settings);
        let (mut events, mut instructions) = (Vec::new(), 0);
        let (mut cycle, mut room) = (0, 0);
        Walk::new(&program, Rng::new(seed ^ 0x5555)).with(happenings).run(3_000, &mut |event| {
            let count = if let Event::Block(block) = event { block.count } else { 0 };
            let mut next = || {
                if room == 0 || rng.one_in(2) {
                    cycle += 1 + if rng.one_in(4) { rng.below(9) } else { 0 };
                    room = width;
                }
                room -= 1;
                cycle
            };
            events.push(((0..count).map(|_| next()).collect(), *event));
            instructions += u64::from(count);
        });
        let rate = Rate::new(1 + rng.below(16) as u32, 1 + rng.below(9) as u32).unwrap();
        Self { settings, events, instructions, last: cycle, rate }
    }

    /// Traces all of it through ports with a buffer of so many bits, or one that is as large as it has to be.
    fn through(&self, buffer: Option<(u64, WhenFull)>) -> Written {
        let limited = buffer.map(|(bits, when_full)| Port { rate: self.rate, bits, when_full });
        let port = Some(PortRequest { rate: self.rate, limited });
        self.trace(&Settings { port, ..self.settings.clone() }, |_| true)
    }

    /// Traces the instructions for which that is so: others are left out, as trace control does.
    fn trace(&self, settings: &Settings, mut is_traced: impl FnMut(&Block) -> bool) -> Written {
        let mut tracer = tracer(settings);
        for (cycles, event) in &self.events {
            match event {
                Event::Block(block) if !is_traced(block) => {
                    tracer.lost();
                    continue;
                }
                Event::Block(_) => tracer.cycles(cycles),
                _ => {}
            }
            tell(event, &mut tracer);
        }
        let Finished { to: trace, delta, traced, .. } = tracer.0.finish().unwrap();
        Written { trace, delta: delta.unwrap().unwrap(), traced, told: traced.delta.unwrap() }
    }

    /// The cycles of all instructions.
    fn cycles(&self) -> Vec<u64> {
        self.events.iter().flat_map(|(cycles, _)| cycles).copied().collect()
    }

    /// Time and address of each packet that synchronises with an instruction.
    fn starts(&self, bytes: &[u8]) -> Vec<(u64, u64)> {
        let mut starts = Vec::new();
        let mut take = |_: u64, _: &[u8], message: &Message| match &message.content {
            Content::Instruction(packet) if synchronises(packet) => starts.push(match packet {
                Packet::Start(start) => (start.context.time, start.address),
                Packet::Trap(trap) => (trap.context.time, trap.address.unwrap()),
                other => panic!("{other:?}"),
            }),
            _ => {}
        };
        let mut parser = Parser::new(self.settings.source.config.clone());
        parser.feed(bytes, &mut take);
        parser.finish(&mut take);
        starts
    }

    /// Each start finds its sync.
    fn check_starts(&self, written: &Written, what: &str) -> usize {
        let starts = self.starts(&written.trace);
        let mut cycles = Cycles::new(&written.delta);
        for (time, address) in &starts {
            assert!(cycles.seek(*time, *address), "{what}: no sync of {time}, {address:#x}");
            assert_eq!(cycles.next_cycle().first(), Some(*time), "{what}: {address:#x}");
        }
        starts.len()
    }
}

fn tracer(settings: &Settings) -> WithoutCode<Vec<u8>> {
    Asking(Tracer::new(settings, Vec::new()).with_delta(settings, Vec::new()))
}

fn items(bytes: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut decoder = Decoder::new();
    decoder.feed(bytes, &mut items);
    decoder.finish(&mut items);
    items
}

fn is_off(item: &Item) -> bool {
    matches!(item, Item::Off { .. })
}

/// Threads that take over are no gaps; every start finds its sync.
#[test]
fn all_that_retires_is_told_and_starts_are_found() {
    let mut starts = 0;
    for seed in 0..400 {
        let case = Case::random(seed);
        let written = case.trace(&case.settings, |_| true);
        let (items, all) = (items(&written.delta), case.cycles());
        assert!(items.iter().all(|item| !matches!(item, Item::Lost(_))), "seed {seed}");
        let [rest @ .., Item::Off { off, .. }] = &items[..] else { panic!("seed {seed}: no end") };
        assert!(!rest.iter().any(is_off), "seed {seed}: a gap");
        assert_eq!((off.cycle, off.retired), (case.last + 1, case.instructions), "seed {seed}");
        assert_eq!(written.told.instructions, case.instructions, "seed {seed}");
        assert_eq!(written.told.bytes, written.delta.len() as u64, "seed {seed}");
        let mut cycles = Cycles::new(&written.delta);
        for cycle in all {
            match cycles.next_cycle() {
                Stamp::Exact(told) => assert_eq!(told, cycle, "seed {seed}"),
                Stamp::Between(from, to) if !written.told.config.is_exact() => {
                    assert!((from..=to).contains(&cycle), "seed {seed}");
                }
                other => panic!("seed {seed}: {other:?}"),
            }
        }
        starts += case.check_starts(&written, &format!("seed {seed}"));
    }
    assert!(starts > 10_000, "{starts}");
}

/// What is left out of the one trace is not in the other, and nothing that retired then is taken for a stall.
#[test]
fn what_is_not_traced_is_not_told() {
    let (mut gaps, mut starts) = (0, 0);
    for seed in 0..200 {
        let case = Case::random(seed);
        let mut rng = Rng::new(seed);
        let mut is_on = true;
        let mut choices = Vec::new();
        let written = case.trace(&case.settings, |_| {
            is_on ^= rng.one_in(10);
            choices.push(is_on);
            is_on
        });
        let blocks = case.events.iter().filter(|(_, event)| matches!(event, Event::Block(_)));
        let mut expected: Vec<(Vec<u64>, u64)> = Vec::new();
        let mut was_on = false;
        for ((cycles, _), &is_on) in blocks.zip(&choices) {
            if is_on && !was_on {
                expected.push(Default::default());
            }
            was_on = is_on;
            if is_on && let Some((piece, end)) = expected.last_mut() {
                piece.extend(cycles);
                *end = cycles.last().map_or(*end, |last| last + 1);
            }
        }
        expected.retain(|(piece, _)| !piece.is_empty());
        let (mut told, mut piece) = (Vec::new(), Vec::new());
        let is_exact = written.told.config.is_exact();
        for item in items(&written.delta) {
            match item {
                Item::Run(run) => {
                    piece.extend((0..run.retired()).map(|at| run.cycle + at / u64::from(run.each)));
                }
                Item::Span(span) => piece.resize(piece.len() + span.retired as usize, 0),
                Item::Off { off, .. } => told.push((std::mem::take(&mut piece), off.cycle)),
                Item::Sync { .. } => {}
                Item::Lost(lost) => panic!("seed {seed}: {lost:?}"),
            }
        }
        let lens = |pieces: &[(Vec<u64>, u64)]| -> Vec<_> {
            pieces.iter().map(|(piece, end)| (piece.len(), *end)).collect()
        };
        assert_eq!(lens(&told), lens(&expected), "seed {seed}");
        assert!(!is_exact || told == expected, "seed {seed}");
        gaps += told.len();
        starts += case.check_starts(&written, &format!("seed {seed}"));
    }
    assert!(gaps > 2000 && starts > gaps, "{gaps} {starts}");
}

/// Where the hart waits, both traces tell the same time; with the smallest buffers nobody does.
#[test]
fn who_waits_waits_in_both_traces() {
    let mut waits = 0;
    for seed in 0..150 {
        let case = Case::random(seed);
        let whole = case.through(None);
        let report = whole.told.port.unwrap();
        let smallest = report.smallest().max(whole.traced.port.unwrap().smallest());
        let enough = case.through(Some((smallest, WhenFull::Stall)));
        assert!(enough.trace == whole.trace && enough.delta == whole.delta, "seed {seed}");
        // So little that waiting for one port does not give the other all the time it needs.
        let size = 64 + 8 * (seed % 30);
        let small = case.through(Some((size, WhenFull::Stall)));
        let stats = [small.traced.port.unwrap(), small.told.port.unwrap()].map(|port| port.stats);
        let waited = stats.map(|stats| stats.stall_cycles);
        for stats in stats {
            // No port sent more than it can.
            let time = case.last + 1 + waited[0] + waited[1];
            let sent = (stats.bits - stats.bits.min(size)) * u64::from(case.rate.cycles());
            assert!(sent <= time * u64::from(case.rate.bits()), "seed {seed}: {stats:?} in {time}");
        }
        assert_eq!(small.told.port.unwrap().smallest(), report.smallest(), "seed {seed}");
        let Some(Item::Off { off, .. }) = items(&small.delta).last().copied() else { panic!("seed {seed}") };
        assert_eq!(off.retired, case.instructions, "seed {seed}");
        assert!(off.cycle <= case.last + 1 + waited[0] + waited[1], "seed {seed}: {off:?} {waited:?}");
        waits += u64::from(off.cycle > case.last + 1 && waited.iter().all(|waited| *waited > 0));
        case.check_starts(&small, &format!("seed {seed}"));
    }
    assert!(waits > 100, "{waits}");
}

/// Where packets are lost, that is told, and the rest is right.
#[test]
fn what_is_lost_at_the_port_is_told() {
    let (mut losses, mut found) = (0, 0);
    for seed in 0..150 {
        let case = Case::random(seed);
        let whole = case.through(None);
        let smallest = whole.told.port.unwrap().smallest().max(whole.traced.port.unwrap().smallest());
        let enough = case.through(Some((smallest, WhenFull::Drop)));
        assert!(enough.trace == whole.trace && enough.delta == whole.delta, "seed {seed}");
        let small = case.through(Some(((smallest / 3).max(super::LEAST), WhenFull::Drop)));
        let report = small.told.port.unwrap();
        assert_eq!(report.smallest(), whole.told.port.unwrap().smallest(), "seed {seed}");
        let (mut told, mut lost) = (0, 0);
        for item in items(&small.delta) {
            match item {
                Item::Run(run) => told += run.retired(),
                Item::Span(span) => told += span.retired,
                Item::Lost(gap) => {
                    assert_eq!(gap.why, Why::Overflow, "seed {seed}");
                    lost += 1;
                }
                Item::Sync { .. } | Item::Off { .. } => {}
            }
        }
        assert_eq!(report.gaps.losses, lost, "seed {seed}");
        assert_eq!(report.gaps.instructions + told, case.instructions, "seed {seed}");
        assert_eq!(report.gaps.packets > 0, lost > 0, "seed {seed}");
        losses += lost;
        // Syncs may be lost, too. Those that are found are the right ones.
        let all = case.cycles();
        let mut cycles = Cycles::new(&small.delta);
        for (time, address) in case.starts(&small.trace) {
            if cycles.seek(time, address) {
                assert!(all.binary_search(&time).is_ok(), "seed {seed}");
                found += 1;
            }
        }
    }
    assert!(losses > 200 && found > 1000, "{losses} {found}");
}

/// Instructions without a cycle are not told, and counted.
#[test]
fn blocks_without_cycles_are_left_out() {
    let case = Case::random(3);
    let mut tracer = tracer(&case.settings);
    let (mut with, mut without) = (0, 0);
    let mut rng = Rng::new(3);
    for (cycles, event) in &case.events {
        let Event::Block(block) = event else { continue };
        if rng.one_in(5) {
            without += u64::from(block.count);
        } else {
            tracer.cycles(cycles);
            with += u64::from(block.count);
        }
        tracer.block(block);
    }
    let Finished { delta, traced, .. } = tracer.0.finish().unwrap();
    let told = traced.delta.unwrap();
    assert_eq!((told.instructions, told.untimed), (with, without));
    let offs = items(&delta.unwrap().unwrap()).into_iter().filter(is_off).count();
    assert!(without > 0 && offs > 10, "{offs}");
}
