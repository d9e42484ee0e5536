//! Trace control before the encoder: exactly the qualifying instructions are decoded.

use crate::programs::all_params;
use crate::support;

use support::machine::{Event, Record, addresses, image, run, sample, samples};
use support::{assert_same, feed};
use tracewright_core::control::{Control, Field, Plan};
use tracewright_core::{Block, Element, Ended, MemorySpace, Role};
use tracewright_etrace::Options;
use tracewright_etrace::decode::{self, Decoder};
use tracewright_etrace::encode::{Config, Encoder, Resync, ResyncMode};
use tracewright_etrace::ingress::{CType, Executed, ITypeWidth};
use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{self, Writer};
use tracewright_flow::Instructions;
use tracewright_hart::{Controlled, Events, HartSink, Moment, Privilege, Trap};
use tracewright_image::Image;
use tracewright_isa::riscv::IType;
use tracewright_testkit::Rng;
use tracewright_testkit::control::{Asked, EventNames, Happening, Step, Tree, qualified, random};

/// Execution of a program.
struct Execution {
    record: Record,
    /// Its instructions and traps, one by one.
    steps: Vec<Step>,
    image: Image,
}

impl Execution {
    /// Runs the first instructions of a program.
    fn of(path: &std::path::Path, instructions: u64) -> Self {
        let record = run(path, instructions);
        Self { steps: steps(&record), image: image(&record.code), record }
    }

    /// Returns the number of retired instructions.
    fn retired(&self) -> u64 {
        self.record.bits.len() as u64
    }

    /// Replays the events.
    fn replay(&self, sink: &mut impl HartSink) {
        for (event, bits) in self.record.told() {
            match event {
                Event::Block(block, _) => {
                    sink.instructions(bits);
                    sink.block(block);
                }
                Event::Trap(trap) => sink.trap(trap),
                Event::Privilege(privilege) => sink.privilege(*privilege),
                Event::Context(context) => sink.context(*context),
            }
        }
    }
}

fn steps(record: &Record) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut now =
        Step { pc: 0, privilege: 0, context: 0, cycle: 0, block: (0, 0, 0), what: Happening::Retired };
    for (event, bits) in record.told() {
        match event {
            Event::Block(block, _) => {
                let iretire = (block.end.wrapping_sub(block.start) / 2) as u32;
                let whole = (IType::of(block) as u8, iretire, u8::from(block.last_len == 4));
                let returns = block.class.role == Role::ExceptionReturn && block.ended == Ended::Taken;
                for (pc, _) in addresses(block, bits) {
                    now.cycle += 1;
                    let is_return = returns && pc == block.last();
                    let what = if is_return { Happening::Returned } else { Happening::Retired };
                    steps.push(Step { pc, block: whole, what, ..now });
                }
            }
            &Event::Trap(Trap { pc, cause, interrupt, value: tval, served, .. }) => {
                steps.push(Step { pc, what: Happening::Trap { cause, tval, interrupt, served }, ..now });
            }
            Event::Privilege(privilege) => now.privilege = *privilege as u8,
            Event::Context(context) => now.context = *context,
        }
    }
    steps
}

/// Item of comparison: a retired instruction, or a trap.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Retired(u64, u8),
    Trap {
        cause: u64,
        interrupt: bool,
    },
    /// Instructions that the trace does not cover.
    Unknown,
}

impl Item {
    fn of(step: &Step) -> Self {
        match step.what {
            Happening::Retired | Happening::Returned => Self::Retired(step.pc, step.privilege),
            Happening::Trap { cause, interrupt, .. } => Self::Trap { cause, interrupt },
            Happening::Lost => Self::Unknown,
        }
    }
}

/// HartSink that encodes.
struct Encode {
    encoder: Encoder,
    executed: Executed,
    writer: Writer,
    bytes: Vec<u8>,
    /// Number of times that tracing was switched off.
    halts: u64,
}

impl Encode {
    fn new(config: &Config, stream: &stream::Config) -> Self {
        let executed = Executed::new(ITypeWidth::Four, CType::Discontinuity);
        let encoder = Encoder::new(config.clone());
        let writer = Writer::new(stream.clone()).with_alignment(500);
        Self { encoder, executed, writer, bytes: Vec::new(), halts: 0 }
    }

    fn tell(&mut self, tell: impl FnOnce(&mut Encoder, &mut dyn FnMut(&Packet))) {
        let Self { encoder, writer, bytes, .. } = self;
        tell(encoder, &mut |packet| writer.instruction(0, None, packet, bytes).unwrap());
    }
}

impl HartSink for Encode {
    fn block(&mut self, block: &Block) {
        let entry = self.executed.block(block);
        self.tell(|encoder, mut out| encoder.entry(&entry, &mut out));
    }

    fn trap(&mut self, trap: &Trap) {
        let entry = self.executed.trap(trap.pc, trap.cause, trap.interrupt, trap.value);
        self.tell(|encoder, mut out| encoder.entry(&entry, &mut out));
    }

    fn lost(&mut self) {
        self.halts += 1;
        self.tell(|encoder, mut out| encoder.halt(&mut out));
    }

    fn privilege(&mut self, privilege: Privilege) {
        self.executed.privilege(privilege as u8);
    }

    fn context(&mut self, context: u64) {
        self.executed.context(context & 0xffff_ffff);
    }
}

fn controlled(asked: &Asked, encode: Encode) -> Controlled<Encode> {
    let plan = Plan::parse(&asked.text, &EventNames)
        .unwrap_or_else(|error| panic!("{error}\n{}", error.shown(&asked.text)));
    let mut events = Events::new();
    for (event, at) in &asked.events {
        events.add(*event, Moment::Instruction(*at));
    }
    for (event, at) in &asked.cycle_events {
        events.add(*event, Moment::Cycle(*at));
    }
    Controlled::new(Control::new(plan), encode).with_events(events)
}

fn decoded(execution: &Execution, bytes: &[u8], config: &Config, stream: &stream::Config) -> Vec<Item> {
    let image = &execution.image;
    let mut found = Vec::new();
    let mut privilege = 0;
    let mut sink = |offset: u64, element: &Element| match *element {
        Element::Block(block) => {
            let instructions = Instructions::new(image, MemorySpace::ANY, &block);
            found.extend(instructions.map(|instruction| Item::Retired(instruction.address, privilege)));
        }
        Element::Exception(exception) => {
            found.push(Item::Trap { cause: exception.number.into(), interrupt: exception.interrupt });
        }
        Element::UnknownPath { .. } => found.push(Item::Unknown),
        Element::Context(now, _) => privilege = now.level,
        Element::TraceOn(_) | Element::End => {}
        ref other => panic!("at {offset:#x}: {other:x?}"),
    };
    let isa = execution.record.isa();
    let mut decoder = Decoder::new(&config.params, decode::Options::default(), image, isa);
    feed(&mut decoder, stream, [bytes], true, &mut sink);
    found
}

fn config(rng: &mut Rng, execution: &Execution) -> Config {
    let params = all_params(execution.record.isa());
    let mut on = || rng.one_in(2);
    let options = Options {
        implicit_return: on(),
        implicit_exception: false,
        full_address: on(),
        jump_target_cache: on(),
        branch_prediction: on(),
        sijump: on(),
    };
    let modes = [ResyncMode::Off, ResyncMode::Packets];
    let resync = Resync { mode: *rng.pick(&modes), max: 1 + rng.below(6) as u8, anywhere: false };
    Config { params, options, resync, ..Config::default() }
}

/// Encodes what qualifies and decodes it. Returns the number of steps, and how often tracing was switched
/// off.
fn check(name: &str, execution: &Execution, asked: &Asked, config: &Config) -> (u64, u64) {
    let stream = stream::Config { params: config.params.clone(), ..stream::Config::default() };
    let mut sink = controlled(asked, Encode::new(config, &stream));
    execution.replay(&mut sink);
    sink.inner.tell(|encoder, mut out| encoder.finish(&mut out));
    let told = qualified(asked, &execution.steps);
    let expected: Vec<_> = execution
        .steps
        .iter()
        .zip(&told)
        .filter(|(_, told)| **told)
        .map(|(step, _)| Item::of(step))
        .collect();
    let count = expected.iter().filter(|item| matches!(item, Item::Retired(..))).count() as u64;
    assert_eq!(sink.control().qualified(), count, "{name}: {}", asked.text);
    assert_eq!(sink.left_out(), 0);
    let found = decoded(execution, &sink.inner.bytes, config, &stream);
    if found.contains(&Item::Unknown) {
        // No trace can count the rounds of a loop without a branch.
        assert!(execution.record.has_uncounted_loop(), "{name}: {}", asked.text);
    } else {
        assert_same(&format!("{name}: {}\n{:?}", asked.text, config.options), &found, &expected);
    }
    (count, sink.inner.halts)
}

/// Returns the seeds of random conditions. For more: `CONTROL_SEEDS=1000-9000 cargo test -p
/// tracewright-etrace --test it control`.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let Ok(seeds) = std::env::var("CONTROL_SEEDS") else { return 0..usual };
    let (from, to) = seeds.split_once('-').unwrap();
    from.parse().unwrap()..to.parse().unwrap()
}

#[test]
fn decoded_is_exactly_what_qualifies() {
    let (mut some, mut none, mut all, mut halts) = (0, 0, 0, 0);
    for path in samples() {
        let execution = Execution::of(&path, 20_000);
        let name = path.file_name().unwrap().to_string_lossy();
        let first = name.bytes().map(u64::from).sum::<u64>() * 1_000_000;
        for seed in seeds(60) {
            let mut rng = Rng::new(first + seed);
            let asked = random(&mut rng, &execution.steps);
            let config = config(&mut rng, &execution);
            let (count, off) = check(&format!("{name}, seed {seed}"), &execution, &asked, &config);
            match count {
                0 => none += 1,
                _ if count == execution.retired() => all += 1,
                _ => some += 1,
            }
            halts += off;
        }
    }
    // Most conditions select something.
    assert!(some > none && some > all && none > 0 && all > 0, "{some} {none} {all}");
    assert!(halts > 10_000, "{halts}");
}

/// The same programs have interrupts; their conditions select handlers.
#[test]
fn interrupt_handlers_alone() {
    for (name, expected) in [("timer.elf", true), ("sort.elf", false)] {
        let execution = Execution::of(&sample(name), 300_000);
        let config = config(&mut Rng::new(1), &execution);
        let when = Some(Tree::Test(Field::Isr, vec![(1, 1)]));
        let isr = Asked { text: "isr".into(), when, ..Asked::default() };
        let (count, _) = check(name, &execution, &isr, &config);
        assert_eq!(count > 0, expected, "{name}: {count} of {}", execution.retired());
        assert!(count < execution.retired() / 2, "{name}: {count} of {}", execution.retired());
    }
}
