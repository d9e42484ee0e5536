//! The toy protocol in all that verbs do: it is registered, and nothing else knows of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use tracewright_core::Element;
use tracewright_engine::{
    At, Consumer, Engine, Found, Limits, Line, Options, PacketRequest, Range, Request, Role, Visitor,
    WantedBlocks,
};
use tracewright_flow as flow;
use tracewright_input::{Capture, ImageFile, MemorySpace, Packing, Protocol, RawSource, SnapshotWriter};
use tracewright_testkit::Scratch;

use crate::toy::{self, Packet};

/// `nop`, `cbz x0, .-4`, `ret`.
const CODE: [u32; 3] = [0xd503_201f, 0xb4ff_ffe0, 0xd65f_03c0];
const ADDRESS: u64 = 0x1000;

/// The bytes of the program.
fn code() -> Vec<u8> {
    CODE.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A trace of sources that run the program, a packet of each in turn, and how many blocks that makes.
pub fn trace(ids: &[u16], packets: u32) -> (Vec<u8>, u64) {
    let (mut bytes, mut blocks, mut dice) = (Vec::new(), 0, 1u32);
    // Whether a source is at the return, and whether its address is to be told.
    let mut at: Vec<_> = ids.iter().map(|_| (false, false)).collect();
    for number in 0..packets {
        for (&id, (at_return, needs_address)) in ids.iter().zip(&mut at) {
            dice = dice.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
            let taken = dice >> 28 > 4;
            let packet = if std::mem::take(needs_address) {
                Packet(toy::ADDRESS, id, ADDRESS)
            } else if number % 100 == 0 {
                Packet(toy::SYNC, id, if *at_return { ADDRESS + 8 } else { ADDRESS })
            } else if number % 100 == 50 {
                Packet(toy::EXCEPTION, id, 7)
            } else {
                blocks += 1;
                *needs_address = *at_return;
                let taken = *at_return || taken;
                *at_return = !*at_return && !taken;
                Packet(toy::ATOM, id, taken.into())
            };
            packet.write(&mut bytes);
        }
    }
    (bytes, blocks)
}

/// A file of trace whose sources are given by hand.
pub fn raw(path: &Path, ids: &[u16]) -> Capture {
    toy::add();
    let sources: Vec<RawSource> = ids.iter().map(|id| format!("toy,id={id}").parse().unwrap()).collect();
    Capture::raw(path, Packing::Source, &sources).unwrap()
}

/// Text of all elements.
struct Lines;

impl Consumer for Lines {
    type State = ();
    type Output = String;

    fn element(&self, (): &mut (), output: &mut String, at: &At<'_>, element: &Element) {
        let what = match element {
            Element::Exception(exception) => at.source.exception_name(exception),
            element => format!("{element:?}"),
        };
        writeln!(output, "{:#x} {} {what}", at.place.offset, at.source.id).unwrap();
    }

    fn merge(&self, _: &mut String, _: String) {}

    fn len(&self, output: &String) -> usize {
        output.len()
    }
}

/// How often each block ran.
struct Profile;

impl Consumer for Profile {
    const BLOCKS: WantedBlocks = WantedBlocks::Counted;
    type State = ();
    type Output = BTreeMap<u64, u64>;

    fn element(&self, (): &mut (), _: &mut Self::Output, _: &At<'_>, _: &Element) {}

    fn counted(&self, output: &mut Self::Output, counts: flow::BlockCounts) {
        for ((block, _), count) in &counts.blocks {
            *output.entry(block.start).or_default() += count;
        }
    }

    fn merge(&self, into: &mut Self::Output, later: Self::Output) {
        for (start, count) in later {
            *into.entry(start).or_default() += count;
        }
    }
}

fn decode<C: Consumer>(
    capture: &Capture,
    wants: &(dyn Fn(u16) -> bool + Sync),
    jobs: usize,
    consumer: &C,
    take: impl FnMut(&C::Output, std::ops::Range<usize>) -> ControlFlow<()> + Send,
) -> C::Output {
    let program = Scratch::new("toy");
    let path = program.write("code.bin", &code());
    let (image, problems) = capture.image(&[ImageFile { path, at: Some(ADDRESS) }]);
    assert_eq!(problems, []);
    let request = Request {
        capture,
        buffer: &capture.buffers[0],
        bytes: None,
        image: &image,
        wants,
        options: &Options::default(),
        range: Range::ALL,
        limits: Limits::NONE,
        refuse_mismatch: true,
        progress: &|_| {},
    };
    let decoded = Engine::new(jobs).unwrap().decode(&request, consumer, take).unwrap();
    assert!(decoded.problems.is_empty(), "{:?}", decoded.problems);
    decoded.output
}

/// The text of all elements.
pub fn text(capture: &Capture, wants: &(dyn Fn(u16) -> bool + Sync), jobs: usize) -> String {
    let mut text = String::new();
    decode(capture, wants, jobs, &Lines, |output, range| {
        text.push_str(&output[range]);
        ControlFlow::Continue(())
    });
    text
}

/// How often each block ran.
pub fn profile(capture: &Capture, jobs: usize) -> BTreeMap<u64, u64> {
    decode(capture, &|_| true, jobs, &Profile, |_, _| ControlFlow::Continue(()))
}

#[derive(Default)]
struct Shown(String);

impl Visitor for Shown {
    fn packet(&mut self, found: &Found<'_>) {
        let Found { source, place, bytes, kind, packet, .. } = found;
        let (mut words, mut fields) = (Line::default(), Line::default());
        packet.words(&mut words);
        packet.fields(&mut fields);
        let [words, fields] =
            [&words, &fields].map(|line| String::from_utf8_lossy(line.bytes()).into_owned());
        let (id, kind) = (source.map(|source| source.id), kind.name);
        writeln!(self.0, "{:#x} {id:?} {bytes:x?} {kind}: {words}{fields}", place.offset).unwrap();
    }
}

/// All that verbs do with a capture that has a toy with this ID, and nothing else.
fn check(capture: &Capture, id: u16, blocks: u64) {
    assert_eq!(capture.problems, []);
    // info
    let source = &capture.sources[0];
    assert_eq!((source.protocol_name().as_str(), source.number()), ("Toy 1.0", Some(id)));
    let Protocol::Registered(params) = &source.protocol else { panic!("{source:?}") };
    assert_eq!(params.facts(), [("id", id.to_string())]);
    // packets
    let (buffer, options) = (&capture.buffers[0], &Options::default());
    let request = PacketRequest {
        capture,
        buffer,
        bytes: None,
        wants: &|_| true,
        options,
        range: Range::ALL,
        progress: &|_| {},
    };
    let mut shown = Shown::default();
    let read = request.visit(&mut shown).unwrap();
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    let lines: Vec<_> = shown.0.lines().collect();
    let header = id << 3;
    let first =
        format!("0x0 Some({id}) [{header:x}, 0, 10, 0, 0, 0, 0, 0, 0] Sync: Sync 0x1000,\"value\":4096");
    assert_eq!(lines[0], first);
    assert!(lines.iter().any(|line| line.ends_with("Atom: Atom 0x1,\"value\":1")));
    // stats
    let counted = request.count().unwrap();
    let [(0, counts)] = &counted.sources[..] else { panic!("{counted:?}") };
    assert_eq!(counts.total(), (lines.len() as u64, counted.read.bytes));
    assert!(counted.read.problems.is_empty() && counted.read.malformed == 0, "{:?}", counted.read);
    let syncs = lines.iter().filter(|line| line.contains(" Sync: ")).count() as u64;
    assert_eq!((counts.synchronisation.0, counts.syncs.seen), ("toy sync", syncs));
    assert!(counts.kinds().iter().all(|(kind, ..)| kind.role != Role::Malformed));
    // decode
    let one = text(capture, &|_| true, 1);
    assert_eq!(one.matches("Block(").count() as u64, blocks);
    assert!(one.contains(&format!(" {id} toy trap 7\n")), "{}", &one[..one.len().min(2000)]);
    assert!(one == text(capture, &|_| true, 3), "what is told depends on how many decode");
    // profile
    let counts = profile(capture, 1);
    assert_eq!(counts.values().sum::<u64>(), blocks);
    assert_eq!(counts, profile(capture, 3));
}

#[test]
fn a_toy_by_hand() {
    let scratch = Scratch::new("toy");
    let (bytes, blocks) = trace(&[3], 60_000);
    check(&raw(&scratch.write("toy.bin", &bytes), &[3]), 3, blocks);
    let error = |text: &str| text.parse::<RawSource>().unwrap_err().to_string();
    assert_eq!(error("toy,id=9"), "id: expected 0 to 7");
    assert_eq!(error("toy,colour=red"), "colour: a toy has only an id");
    assert_eq!(error("toy"), "id: it is missing");
}

#[test]
fn a_toy_in_a_snapshot() {
    toy::add();
    let scratch = Scratch::new("toy");
    let (bytes, blocks) = trace(&[5], 2_000);
    let mut writer = SnapshotWriter::create(scratch.path()).unwrap();
    let core = writer.core("cpu_0", "Cortex-A53", &[]).unwrap();
    let source = writer.source("TOY_0", "TOY.1", &[("ID", 5)]).unwrap();
    writer.dump(core, ADDRESS, MemorySpace::ANY, &code()[..]).unwrap();
    let buffer = writer.buffer("ETB_0", Packing::Source, &bytes[..]).unwrap();
    writer.connect(source, buffer, Some(core)).unwrap();
    writer.finish().unwrap();
    check(&Capture::open(scratch.path()).unwrap(), 5, blocks);
}

#[test]
fn a_toy_in_our_own_folder() {
    toy::add();
    let scratch = Scratch::new("toy");
    let (bytes, blocks) = trace(&[1], 2_000);
    scratch.write("trace.bin", &bytes);
    let toml = "format = 1\n[[source]]\nprotocol = \"toy\"\nid = 1\n[[buffer]]\nfile = \"trace.bin\"\n";
    let description = scratch.write("capture.toml", toml.as_bytes());
    check(&Capture::open(scratch.path()).unwrap(), 1, blocks);
    fs::write(description, toml.replace("id = 1", "id = 8")).unwrap();
    let problems = Capture::open(scratch.path()).unwrap().problems;
    assert!(problems[0].message.contains("id: expected 0 to 7"), "{problems:?}");
}
