//! What threads do, traced, is what decoders tell: ours, and OpenCSD's.

mod control;
mod older;
mod port;
mod program;
mod sample;
mod walk;

use std::fs;
use std::path::Path;
use std::process::Command;

use tracewright_core::{Block, Class, Element, Ended, Exception, Flow, GapReason, Isa, TraceId};
use tracewright_etm::decode::{Decoder, Feed, Options};
use tracewright_etm::packet::Parser;
use tracewright_frames::{Deframer, Demux, Format};
use tracewright_input::{Capture, OutputFolder, Process, Protocol, Replace};
use tracewright_testkit::{Rng, Scratch, lister, skip};

use self::program::Program;
use self::walk::{Event, Happenings, walk};
use super::tracer::LeftOut;
use super::unit::UnitSettings;
use super::{Folder, Settings};
use crate::protocol::Traced;

/// Claims a folder, whatever is there.
fn claimed(dir: &Path) -> OutputFolder {
    OutputFolder::claim(dir, Replace::Anything).unwrap()
}

/// Threads of a program.
struct Run {
    program: Program,
    settings: Settings,
    threads: Vec<Vec<Event>>,
}

const FIRST_TID: u32 = 0x1000;

impl Run {
    fn random(rng: &mut Rng, is_64bit: bool) -> Self {
        let program = Program::random(rng, is_64bit);
        let happenings = Happenings {
            faults: *rng.pick(&[0, 5, 30]),
            signals: *rng.pick(&[0, 10, 50]),
            gaps: *rng.pick(&[0, 20]),
        };
        let threads = (0..1 + rng.below(4)).map(|_| {
            let blocks = *rng.pick(&[0, 1, 30, 300, 2000]);
            walk(rng, &program, happenings, blocks)
        });
        let threads = threads.collect();
        let mut settings = Settings::new(if is_64bit { Isa::A64 } else { Isa::A32 });
        settings.return_stack = !rng.one_in(4);
        settings.context_id = !rng.one_in(4);
        settings.branch_broadcast = rng.one_in(4);
        settings.sync = *rng.pick(&[0, 64, 200, 4096]);
        Self { program, settings, threads }
    }

    /// Traces all threads in turns.
    fn write(&self, rng: &mut Rng, dir: &Path) -> (Traced, LeftOut) {
        self.write_by(&self.settings, rng, dir)
    }

    fn write_by<S: UnitSettings>(&self, settings: &S, rng: &mut Rng, dir: &Path) -> (Traced, LeftOut) {
        let mut folder = Folder::create(claimed(dir), settings, "random; \"threads\"").unwrap();
        let mut tracers: Vec<_> = (0..)
            .zip(&self.threads)
            .map(|(index, _)| folder.thread(index, FIRST_TID + index).unwrap())
            .collect();
        let mut rest: Vec<_> = self.threads.iter().map(|events| events.iter()).collect();
        while rest.iter().any(|events| events.len() > 0) {
            let thread = rng.below(rest.len() as u64) as usize;
            for event in rest[thread].by_ref().take(rng.sized(9) as usize) {
                event.tell(&mut tracers[thread]);
            }
            if rng.one_in(3) {
                tracers[thread].flush();
            }
        }
        folder.check().unwrap();
        let code = [(self.program.address, &self.program.bytes[..])];
        folder.finish(tracers, Process::default(), code, &mut Vec::new()).unwrap()
    }
}

/// Blocks and exceptions that a trace must tell. Where it ends, or something is missing, in the middle of straight code, the trace
/// says so by an exception.
fn expected(events: &[Event]) -> Vec<Element> {
    let mut elements = Vec::new();
    let mut open = None;
    let mut jumped = false;
    let exception = |number, address, at_target| {
        let return_address = Some(address);
        Element::Exception(Exception { number, interrupt: false, value: None, return_address, at_target })
    };
    for event in events.iter().chain([&Event::Lost]) {
        match event {
            Event::Block(block) => {
                elements.push(Element::Block(*block));
                jumped = block.ended == Ended::Taken;
                let told = block.class.is_branch() || block.class.flow == Flow::Isb;
                open = (!told).then_some(block.end);
            }
            // The branch is left out.
            Event::Undecided(block, last_len) => {
                (open, jumped) = (open.filter(|_| block.count == 1), jumped && block.count == 1);
                if block.count > 1 {
                    let (end, count) = (block.last(), block.count - 1);
                    let class = Class::NEXT;
                    elements.push(Element::Block(Block { end, count, last_len: *last_len, class, ..*block }));
                    open = Some(end);
                }
            }
            Event::Trap(trap) => {
                elements.push(exception(trap.cause as u16, trap.pc, jumped));
                (open, jumped) = (None, false);
            }
            Event::Lost => {
                elements.extend(open.take().map(|end| exception(1, end, false)));
                jumped = false;
            }
        }
    }
    elements
}

/// What our decoder tells of a source, less what is no matter of the program; also whether the context is always the same.
fn decoded(dir: &Path, source: usize) -> (Vec<Element>, bool) {
    let capture = Capture::open(dir).unwrap();
    let (mut elements, mut same) = (Vec::new(), true);
    for element in all(dir, source) {
        match element {
            Element::Context(context, _) => {
                let tid = params_tid(&capture, source).then_some(FIRST_TID + source as u32);
                same &= context.level == 0 && context.context_id == tid;
            }
            Element::TraceOn(_) | Element::End | Element::Lost(GapReason::Start) | Element::Gap { .. } => {}
            element => elements.push(element),
        }
    }
    (elements, same)
}

/// All that our decoder tells of a source.
fn all(dir: &Path, source: usize) -> Vec<Element> {
    let capture = Capture::open(dir).unwrap();
    assert_eq!(capture.problems, []);
    let (image, problems) = capture.image(&[]);
    assert_eq!(problems, []);
    let Protocol::Etm(params) = &capture.sources[source].protocol else { panic!() };
    let bytes = trace(&capture, params.id());
    let mut elements = Vec::new();
    let sink = |_: u64, element: &Element| elements.push(*element);
    let mut feed = Feed { decoder: Decoder::new(params, &image, Options::default()).unwrap(), sink };
    let mut parser = Parser::new((**params).clone());
    parser.feed(&bytes, &mut feed);
    parser.finish(&mut feed);
    feed.decoder.finish(parser.position(), &mut feed.sink);
    elements
}

/// The bytes of a source.
fn trace(capture: &Capture, id: TraceId) -> Vec<u8> {
    let mut demux = Demux::new();
    let mut deframer = Deframer::new(Format::Aligned);
    deframer.feed(&fs::read(&capture.buffers[0].path).unwrap(), &mut demux);
    deframer.finish(&mut demux);
    demux.streams().find(|(of, _)| *of == id).map(|(_, stream)| stream.bytes.clone()).unwrap()
}

/// Whether the context ID is traced.
fn params_tid(capture: &Capture, source: usize) -> bool {
    capture.sources[source].register("TRCCONFIGR").unwrap() & 1 << 6 != 0
}

fn assert_same(told: &[Element], expected: &[Element], what: &str) {
    let differs = (0..told.len().max(expected.len())).find(|&i| told.get(i) != expected.get(i));
    if let Some(i) = differs {
        let around = &expected[i.saturating_sub(3)..i];
        let (told, expected) = (told.get(i), expected.get(i));
        panic!("{what}, element {i}, after {around:x?}:\n  executed {expected:x?}\n  decoded  {told:x?}");
    }
}

/// Seeds for random runs. More than usual: `ETM_SEEDS=1000-9000 cargo test -p tracewright-cli etm::`.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let Ok(seeds) = std::env::var("ETM_SEEDS") else { return 0..usual };
    let (from, to) = seeds.split_once('-').unwrap();
    from.parse().unwrap()..to.parse().unwrap()
}

#[test]
fn decoding_gives_back_what_threads_did() {
    for seed in seeds(150) {
        let mut rng = Rng::new(seed);
        let run = Run::random(&mut rng, seed % 2 == 0);
        let scratch = Scratch::new("decoding");
        let (traced, left_out) = run.write(&mut rng, scratch.path());
        let mut instructions = 0;
        for (thread, events) in run.threads.iter().enumerate() {
            let (told, same_context) = decoded(scratch.path(), thread);
            assert_same(
                &told,
                &expected(events),
                &format!("seed {seed}, thread {thread}, {:?}", run.settings),
            );
            assert!(same_context, "seed {seed}, thread {thread}");
            instructions += events.iter().map(Event::instructions).sum::<u64>();
        }
        let undecided = |event: &&Event| matches!(event, Event::Undecided(..));
        let branches = run.threads.iter().flatten().filter(undecided).count() as u64;
        assert_eq!(Capture::open(scratch.path()).unwrap().sources.len(), run.threads.len());
        assert_eq!(traced.instructions, Some(instructions));
        assert_eq!(left_out, LeftOut { branches, nonsense: 0, instructions: 0 });
    }
}

/// Threads do all that they can.
#[test]
fn random_threads_do_everything() {
    let mut seen = [0; 10];
    for seed in 0..40 {
        let run = Run::random(&mut Rng::new(seed), seed % 2 == 0);
        for events in &run.threads {
            let mut last = None;
            for event in events {
                let is = [
                    matches!(event, Event::Block(block) if block.isa == Isa::A64),
                    matches!(event, Event::Block(block) if block.isa == Isa::A32),
                    matches!(event, Event::Block(block) if block.isa == Isa::T32),
                    matches!(event, Event::Trap(trap) if trap.cause == 2),
                    matches!(event, Event::Trap(trap) if trap.cause == 0xc),
                    matches!(event, Event::Trap(trap) if trap.interrupt),
                    matches!((last, event), (Some(Event::Trap(_)), Event::Trap(_))),
                    matches!((last, event), (Some(Event::Block(block)), Event::Trap(_)) if block.ended == Ended::Taken),
                    matches!(event, Event::Undecided(..)),
                    matches!(event, Event::Lost),
                ];
                (seen.iter_mut().zip(is)).for_each(|(seen, is)| *seen += u32::from(is));
                last = Some(*event);
            }
        }
    }
    assert!(seen.iter().all(|&seen| seen > 20), "{seen:?}");
}

/// What OpenCSD's lister and we call by the same name: it has its own idea of what returns are in AArch32.
fn comparable(element: Element) -> Element {
    match element {
        Element::Block(block) => Element::Block(Block { class: Class::NEXT, ..block }),
        other => other,
    }
}

const NO_LISTER: &str = "trc_pkt_lister (libopencsd-bin) is not installed";

/// What OpenCSD's lister prints, if there is one.
fn listed(dir: &Path, options: &[&str]) -> Option<String> {
    let mut lister = Command::new("trc_pkt_lister");
    let lister = lister.args(["-ss_dir", dir.to_str().unwrap(), "-logstdout"]).args(options);
    let listed = lister.current_dir(dir).output().ok()?;
    Some(String::from_utf8_lossy(&listed.stdout).into_owned())
}

#[test]
fn opencsd_tells_what_threads_did() {
    for seed in seeds(40) {
        let mut rng = Rng::new(seed);
        let run = Run::random(&mut rng, seed % 2 == 0);
        let scratch = Scratch::new("opencsd");
        run.write(&mut rng, scratch.path());
        let Some(text) = listed(scratch.path(), &["-decode_only"]) else {
            return skip("opencsd_tells_what_threads_did", NO_LISTER);
        };
        let capture = Capture::open(scratch.path()).unwrap();
        for (thread, events) in run.threads.iter().enumerate() {
            let id = capture.sources[thread].id().unwrap();
            let told = lister::elements(&text, id.get()).unwrap();
            let told: Vec<_> = told
                .into_iter()
                .filter(|element| !matches!(element, Element::TraceOn(_) | Element::Context(..)))
                .map(comparable)
                .collect();
            let registers = run.settings.registers(id);
            let expected: Vec<_> =
                lister::as_listed(&registers, expected(events)).into_iter().map(comparable).collect();
            assert_same(&told, &expected, &format!("seed {seed}, thread {thread}, {:?}", run.settings));
        }
    }
}

/// There are 111 trace IDs. Threads after that are counted, and the others are whole.
#[test]
fn threads_without_trace_id_are_counted() {
    let mut rng = Rng::new(5);
    let program = Program::random(&mut rng, true);
    let happenings = Happenings { faults: 0, signals: 0, gaps: 0 };
    let threads = (0..113).map(|_| walk(&mut rng, &program, happenings, 10)).collect();
    let run = Run { program, settings: Settings::new(Isa::A64), threads };
    let scratch = Scratch::new("many");
    let (traced, left_out) = run.write(&mut rng, scratch.path());
    let count = |events: &Vec<Event>| events.iter().map(Event::instructions).sum::<u64>();
    let all: u64 = run.threads.iter().map(count).sum();
    let not_traced: u64 = run.threads[111..].iter().map(count).sum();
    assert!(not_traced > 0);
    assert_eq!((traced.instructions, left_out.instructions), (Some(all - not_traced), not_traced));
    for thread in [0, 95, 96, 110] {
        assert_same(&decoded(scratch.path(), thread).0, &expected(&run.threads[thread]), "many threads");
    }
    assert_eq!(Capture::open(scratch.path()).unwrap().sources.len(), 111);
}

#[test]
fn times_are_told_between_branches() {
    let mut rng = Rng::new(7);
    let program = Program::random(&mut rng, true);
    let happenings = Happenings { faults: 10, signals: 0, gaps: 0 };
    let events = walk(&mut rng, &program, happenings, 500);
    let settings = Settings { timestamps: true, ..Settings::new(Isa::A64) };
    let scratch = Scratch::new("times");
    let mut folder = Folder::create(claimed(scratch.path()), &settings, "").unwrap();
    let mut tracer = folder.thread(0, FIRST_TID).unwrap();
    for (number, event) in (0..).zip(&events) {
        if number % 100 == 0 {
            tracer.time(1000 * number);
        }
        event.tell(&mut tracer);
    }
    folder
        .finish(vec![tracer], Process::default(), [(program.address, &program.bytes[..])], &mut Vec::new())
        .unwrap();
    let (told, _) = decoded(scratch.path(), 0);
    let times: Vec<_> = told
        .iter()
        .filter_map(
            |element| if let Element::Timestamp { value, .. } = element { Some(*value) } else { None },
        )
        .collect();
    assert_eq!(times, [0, 100_000, 200_000, 300_000, 400_000]);
    let rest: Vec<_> =
        told.into_iter().filter(|element| !matches!(element, Element::Timestamp { .. })).collect();
    assert_same(&rest, &expected(&events), "with times");
}

/// Blocks and traps that no core can have had, as damaged logs have them, are left out. What is left is as it was.
#[test]
fn nonsense_is_left_out() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let run = Run::random(&mut rng, seed % 2 == 0);
        let good = &run.threads[0];
        let (mut events, mut expected_events, mut nonsense) = (Vec::new(), Vec::new(), 0);
        for event in good {
            events.push(*event);
            expected_events.push(*event);
            let taken = matches!(event, Event::Block(block) if block.ended == Ended::Taken);
            if !rng.one_in(10) || taken {
                continue;
            }
            let Event::Block(block) = *event else { continue };
            // What comes before is told up to here, and what comes after does not follow.
            events.extend([
                Event::Lost,
                Event::Block(Block { start: block.start | 1, ..block }),
                Event::Lost,
            ]);
            expected_events.push(Event::Lost);
            nonsense += 1;
        }
        let run = Run { threads: vec![events], ..run };
        let scratch = Scratch::new("nonsense");
        let (_, left_out) = run.write(&mut rng, scratch.path());
        assert_eq!(left_out.nonsense, nonsense, "seed {seed}");
        let (told, _) = decoded(scratch.path(), 0);
        assert_same(&told, &expected(&expected_events), &format!("seed {seed}, {:?}", run.settings));
    }
}
