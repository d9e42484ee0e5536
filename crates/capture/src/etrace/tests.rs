//! Trace through a port: what fits is all there, and what is lost is what the port says.

use tracewright_core::port::{Port, Rate, WhenFull};
use tracewright_core::{Block, Element, GapReason, MemorySpace};
use tracewright_etrace::decode::{self, Decoder};
use tracewright_etrace::ingress::CType;
use tracewright_etrace::stream::{Message, Parser};
use tracewright_flow::Instructions;
use tracewright_hart::{HartSink, Privilege, Trap};
use tracewright_image::{Bytes, Image};
use tracewright_testkit::Rng;
use tracewright_testkit::riscv::walk::{self, Event, Happenings, Program, Walk};

use super::{Asking, Finished, Settings, Tracer, WithoutCode};
use crate::port::{Gaps, PortRequest, Report};

/// An execution, and how it is traced.
struct Case {
    settings: Settings,
    image: Image,
    /// With the cycle of each.
    events: Vec<(u64, Event)>,
    rate: Rate,
}

/// What went through a port.
struct Passed {
    bytes: Vec<u8>,
    report: Report,
    /// Where gaps are: instructions that ran before, and up to the end of each.
    gaps: Vec<(u64, u64)>,
}

/// Options, each with what else it may be.
const OPTIONS: &[&[&str]] = &[
    &["implicit_return=off"],
    &["branch_prediction=off"],
    &["jump_target_cache=off"],
    &["sijump=off"],
    &["full_address=on"],
    &["resync_mode=packets", "resync_mode=half_words", "resync_mode=off"],
    &["resync_max=0", "resync_max=3"],
    &["align=0", "align=5"],
    &["encapsulation=smi", "encapsulation=pulp"],
    &["notime=false"],
];

impl Case {
    fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let program = Program::generate(&mut rng);
        let options = options(&mut rng, OPTIONS);
        let mut settings = Settings::new(program.isa).with(&options).unwrap();
        let happenings = happenings(&mut rng, &mut settings);
        let slow = 1 + rng.below(4);
        let (mut events, mut cycle) = (Vec::new(), 0);
        Walk::new(&program, Rng::new(seed ^ 0x5555)).with(happenings).run(3_000, &mut |event| {
            if let Event::Block(block) = event {
                cycle += u64::from(block.count) * slow;
            }
            events.push((cycle, *event));
        });
        let mut builder = Image::builder();
        builder.raw("code", Bytes::from(program.bytes.clone()), program.address, MemorySpace::ANY).unwrap();
        let rate = Rate::new(1 + rng.below(8) as u32, 1 + rng.below(9) as u32).unwrap();
        Self { settings, image: builder.build(), events, rate }
    }

    /// Bits that are needed to begin anew.
    fn least(&self) -> u64 {
        let port = Port { rate: self.rate, bits: 0, when_full: WhenFull::Drop };
        let port = Some(PortRequest { rate: self.rate, limited: Some(port) });
        let settings = Settings { port, ..self.settings.clone() };
        settings.encoder().port.unwrap().least()
    }

    /// Traces all of it through a buffer of so many bits, or one that is as large as it has to be.
    fn through(&self, buffer: Option<(u64, WhenFull)>) -> Passed {
        let limited = buffer.map(|(bits, when_full)| Port { rate: self.rate, bits, when_full });
        let port = Some(PortRequest { rate: self.rate, limited });
        let settings = Settings { port, ..self.settings.clone() };
        let mut tracer: WithoutCode<_> = Asking(Tracer::new(&settings, Vec::new()));
        let (mut gaps, mut ran, mut last) = (Vec::new(), 0, tracer.0.gaps().unwrap());
        for (cycle, event) in &self.events {
            tracer.cycles(&[*cycle]);
            let before = ran;
            if let Event::Block(block) = event {
                ran += u64::from(block.count);
            }
            tell(event, &mut tracer);
            let now = tracer.0.gaps().unwrap();
            gaps.extend(ended(&last, &now, before));
            last = now;
        }
        let Finished { to: bytes, traced, .. } = tracer.0.finish().unwrap();
        let report = traced.port.unwrap();
        gaps.extend(ended(&last, &report.gaps, ran));
        Passed { bytes, report, gaps }
    }

    /// All that a trace tells.
    fn elements(&self, bytes: &[u8]) -> Vec<Element> {
        let config = &self.settings.source.config;
        let options = decode::Options {
            context_discontinuity: self.settings.ctype == CType::Discontinuity,
            ..decode::Options::default()
        };
        let mut elements = Vec::new();
        let mut tell = |_: u64, element: &Element| elements.push(*element);
        let mut decoder = Decoder::new(&config.params, options, &self.image, self.settings.source.isa);
        let mut parser = Parser::new(config.clone());
        let mut message =
            |offset: u64, _: &[u8], message: &Message| decoder.message(offset, message, &mut tell);
        parser.feed(bytes, &mut message);
        parser.finish(&mut message);
        decoder.finish(bytes.len() as u64, &mut tell);
        elements
    }

    /// The instructions that a trace tells, in pieces between losses; and whether a piece may have more.
    fn decode(&self, bytes: &[u8]) -> Vec<(Vec<u64>, bool)> {
        let mut pieces = vec![(Vec::new(), false)];
        for element in self.elements(bytes) {
            let piece = pieces.last_mut().unwrap();
            match element {
                Element::Block(block) => piece.0.extend(self.addresses(&block)),
                Element::UnknownPath { .. } | Element::Lost(GapReason::Ambiguous) => piece.1 = true,
                Element::Lost(GapReason::Overflow) => pieces.push((Vec::new(), false)),
                Element::Lost(_) | Element::NoCode { .. } | Element::Mismatch(_) => panic!("{element:?}"),
                _ => {}
            }
        }
        pieces
    }

    fn addresses(&self, block: &Block) -> impl Iterator<Item = u64> {
        Instructions::new(&self.image, MemorySpace::ANY, block).map(|found| found.address)
    }

    /// All that ran.
    fn ran(&self) -> Vec<u64> {
        let blocks = self.events.iter().filter_map(|(_, event)| match event {
            Event::Block(block) => Some(block),
            _ => None,
        });
        blocks.flat_map(|block| self.addresses(block)).collect()
    }
}

/// Draws half of the options by lot, and what each is.
pub(super) fn options(rng: &mut Rng, choices: &[&[&str]]) -> Vec<String> {
    let mut options = Vec::new();
    for choice in choices {
        if rng.one_in(2) {
            options.push((*rng.pick(choice)).into());
        }
    }
    options
}

/// Draws by lot what happens besides the program, and sets how changes of context are told then.
pub(super) fn happenings(rng: &mut Rng, settings: &mut Settings) -> Happenings {
    let switches = if rng.one_in(3) { 200 } else { 0 };
    settings.ctype = if switches > 0 { CType::Discontinuity } else { CType::Precise };
    Happenings {
        interrupts: *rng.pick(&[0, 50, 300]),
        faults: *rng.pick(&[0, 50, 300]),
        wrong_returns: *rng.pick(&[0, 40]),
        contexts: if switches > 0 { 0 } else { *rng.pick(&[0, 50]) },
        switches,
        has_vectors: false,
    }
}

/// Tells a sink of an event.
pub(super) fn tell(event: &Event, sink: &mut impl HartSink) {
    match event {
        Event::Block(block) => sink.block(block),
        Event::Trap(trap) => {
            let walk::Trap { pc, cause, interrupt, value, next, .. } = *trap;
            sink.trap(&Trap { pc, cause, interrupt, value, next, served: false });
        }
        Event::Privilege(privilege) => sink.privilege(Privilege::from_bits((*privilege).into()).unwrap()),
        Event::Context { id, .. } => sink.context((*id).into()),
    }
}

/// The gap that ended just now, after so many instructions.
fn ended(before: &Gaps, after: &Gaps, ran: u64) -> Option<(u64, u64)> {
    let was_open = before.is_open() || after.losses > before.losses;
    (was_open && !after.is_open()).then(|| (ran - (after.instructions - before.instructions), ran))
}

fn sum(gaps: &[(u64, u64)]) -> u64 {
    gaps.iter().map(|(from, to)| to - from).sum()
}

#[test]
fn the_smallest_buffer_is_exact() {
    for seed in 0..150 {
        let case = Case::random(seed);
        let whole = case.through(None);
        let smallest = whole.report.smallest();
        for when_full in [WhenFull::Drop, WhenFull::Stall] {
            let enough = case.through(Some((smallest, when_full)));
            assert_eq!(enough.report.gaps.losses, 0, "seed {seed}");
            assert_eq!(enough.bytes, whole.bytes, "seed {seed}");
            assert_eq!(enough.report.stats.stall_cycles, 0, "seed {seed}");
            assert_eq!(enough.report.stats.peak, smallest, "seed {seed}");
            assert_eq!(enough.report.smallest(), smallest, "seed {seed}");
            let less = case.through(Some((smallest - 1, when_full)));
            let (lost, waited) = (less.report.gaps.losses, less.report.stats.stall_cycles);
            assert!(if when_full == WhenFull::Drop { lost > 0 } else { waited > 0 }, "seed {seed}");
            // How large it has to be is found out all the same.
            assert_eq!(less.report.smallest(), smallest, "seed {seed}");
        }
    }
}

#[test]
fn what_is_lost_is_what_the_port_says() {
    let (mut losses, mut doubts) = (0, 0);
    for seed in 0..400 {
        let case = Case::random(seed);
        let smallest = case.through(None).report.smallest();
        // Not so small that nothing comes after the first loss.
        let bits = Rng::new(seed).below(smallest).max(case.least());
        let passed = case.through(Some((bits, WhenFull::Drop)));
        let report = &passed.report;
        let pieces = case.decode(&passed.bytes);
        assert_eq!(pieces.len() as u64, 1 + report.gaps.losses, "seed {seed}");
        assert_eq!(passed.gaps.len() as u64, report.gaps.losses, "seed {seed}");
        assert_eq!(sum(&passed.gaps), report.gaps.instructions, "seed {seed}");
        let ran = case.ran();
        let starts = std::iter::once(0).chain(passed.gaps.iter().map(|gap| gap.1));
        let ends = passed.gaps.iter().map(|gap| gap.0).chain([ran.len() as u64]);
        for (number, ((piece, is_open), (from, to))) in pieces.iter().zip(starts.zip(ends)).enumerate() {
            let ran = &ran[from as usize..to as usize];
            let what =
                format!("seed {seed}, piece {number}, {from} to {to}, {bits} bits, {:?}", case.settings);
            if *is_open {
                // Something is left out, nothing is made up.
                let mut ran = ran.iter();
                assert!(piece.iter().all(|told| ran.any(|ran| ran == told)), "{what}");
                doubts += 1;
            } else {
                assert_eq!(piece[..], *ran, "{what}");
            }
        }
        losses += passed.gaps.len();
    }
    assert!(losses > 1000 && doubts < losses / 10, "{losses} {doubts}");
}

/// Stalls make everything later, and the trace tells it so.
#[test]
fn times_in_the_trace_are_those_after_waiting() {
    let random = Case::random(7);
    let options = ["notime=false".into(), "time_width=32".into()];
    let settings = Settings::new(random.settings.source.isa).with(&options).unwrap();
    let case = Case { settings, ..random };
    let smallest = case.through(None).report.smallest();
    let waiting = case.through(Some((smallest / 4, WhenFull::Stall)));
    let last = |bytes: &[u8]| {
        let times = case.elements(bytes).into_iter().filter_map(|element| match element {
            Element::Timestamp { value, .. } => Some(value),
            _ => None,
        });
        let times: Vec<_> = times.collect();
        assert!(times.is_sorted());
        times[times.len() - 1]
    };
    let (whole, late) = (last(&case.through(None).bytes), last(&waiting.bytes));
    let waited = waiting.report.stats.stall_cycles;
    assert!(waited > 100 && late > whole && late <= whole + waited, "{whole} {late} {waited}");
}
