//! Executions of random A32 and T32 programs: what is encoded is decoded to the same, with every option.

use std::collections::BTreeMap;

use tracewright_core::{
    Block, Class, Context, Element, Ended, Exception, Flow, Isa, MemorySpace, Role, Security, TraceOn,
};
use tracewright_flow::{Graph, Instructions};
use tracewright_image::{Bytes, Image};
use tracewright_testkit::Rng;

use super::{Decoder, Options};
use crate::ptm::encode::{self, Encoder};
use crate::ptm::packet::{Packet, PacketSink, Parser};
use crate::ptm::{Params, Registers};

const A32: u64 = 0x8000_0000;
const T32: u64 = 0x8001_0000;
const SPACE: MemorySpace = MemorySpace::S;

/// A program: memory, and the places where blocks begin.
pub(in crate::ptm) struct Program {
    pub image: Image,
    /// The memory, with addresses.
    pub code: Vec<(u64, Vec<u8>)>,
    entries: Vec<(u64, Isa)>,
}

/// Random blocks of plain instructions, each with a branch or a barrier at its end. Direct branches go to blocks nearby.
pub(in crate::ptm) fn program(rng: &mut Rng) -> Program {
    let (mut entries, mut code) = (Vec::new(), Vec::new());
    let mut builder = Image::builder();
    for (base, isa) in [(A32, Isa::A32), (T32, Isa::T32)] {
        let blocks = 30;
        let sizes: Vec<u64> = (0..blocks).map(|_| rng.below(6)).collect();
        let unit = if isa == Isa::A32 { 4 } else { 2 };
        // Instructions at the end have four bytes of room.
        let len = |size: u64| size * unit + 4;
        let starts: Vec<u64> =
            (0..blocks).map(|i| base + sizes[..i].iter().map(|&size| len(size)).sum::<u64>()).collect();
        let mut bytes = Vec::new();
        for (i, &size) in sizes.iter().enumerate() {
            for _ in 0..size {
                match isa {
                    Isa::A32 => bytes.extend(0xe1a0_0000_u32.to_le_bytes()),
                    _ => bytes.extend(0xbf00_u16.to_le_bytes()),
                }
            }
            let at = base + bytes.len() as u64;
            let near = starts[(i + rng.below(8) as usize).saturating_sub(4).min(blocks - 1)];
            let kind = if i + 1 == blocks { 0 } else { rng.below(8) };
            bytes.extend(if isa == Isa::A32 { a32(kind, at, near) } else { t32(kind, at, near) });
        }
        entries.extend(starts.iter().map(|&start| (start, isa)));
        builder.raw("code", Bytes::from(bytes.clone()), base, MemorySpace::ANY).unwrap();
        code.push((base, bytes));
    }
    Program { image: builder.build(), code, entries }
}

fn a32(kind: u64, at: u64, target: u64) -> [u8; 4] {
    let offset = (target.wrapping_sub(at + 8) >> 2) as u32 & 0xff_ffff;
    let word: u32 = match kind {
        0 => 0xea00_0000 | offset,
        1 | 2 => 0x0a00_0000 | offset,
        3 => 0xeb00_0000 | offset,
        4 => 0xe12f_ff1e,
        5 => 0xe12f_ff11,
        6 => 0xe12f_ff31,
        _ => 0xf57f_f06f,
    };
    word.to_le_bytes()
}

fn t32(kind: u64, at: u64, target: u64) -> [u8; 4] {
    // Two 16-bit instructions where the last is the branch, or one of 32 bits.
    let nop = 0xbf00_u16;
    let short = |half: u16| [nop, half];
    let offset = target.wrapping_sub(at + 2 + 4);
    let halves = match kind {
        0 => short(0xe000 | (offset >> 1) as u16 & 0x7ff),
        1 | 2 => short(0xd000 | (offset >> 1) as u16 & 0xff),
        3 => {
            let offset = target.wrapping_sub(at + 4);
            let sign = (offset >> 63) as u16;
            [0xf000 | sign << 10 | (offset >> 12) as u16 & 0x3ff, 0xf800 | (offset >> 1) as u16 & 0x7ff]
        }
        4 => short(0x4770),
        5 => short(0x4708),
        6 => short(0x4788),
        _ => [0xf3bf, 0x8f6f],
    };
    let [first, second] = halves.map(u16::to_le_bytes);
    [first[0], first[1], second[0], second[1]]
}

/// Runs a program with random outcomes. `rate` is how often there is something besides blocks.
pub(in crate::ptm) fn execute(
    program: &Program,
    rng: &mut Rng,
    blocks: u32,
    params: &Params,
) -> Vec<Element> {
    let mut graph = Graph::new(&program.image, false);
    let (mut at, mut calls) = (program.entries[0], Vec::new());
    let mut context = Context {
        level: 1,
        security: Security::Secure,
        is_64bit: false,
        vmid: params.vmids().then_some(3),
        context_id: (params.context_id_bytes() > 0).then_some(0x12),
    };
    let mut elements = vec![Element::TraceOn(TraceOn::Normal), Element::Context(context, at.1)];
    let mut time = 0x1000;
    let count = |elements: &mut Vec<Element>, rng: &mut Rng| {
        if params.cycle_accurate() && !rng.one_in(4) {
            elements.push(Element::Cycles(Some(1 + rng.sized(20) as u32)));
        }
    };
    for _ in 0..blocks {
        let id = graph.at(at.0, at.1, SPACE);
        let node = *graph.node(id);
        if rng.one_in(40) {
            // An exception, perhaps after a part of the block.
            let unit = if at.1 == Isa::A32 { 4 } else { 2 };
            let plain = (node.block(Ended::Cut).last() - at.0) / unit;
            let ran = rng.below(plain + 1);
            let end = at.0 + ran * unit;
            if ran > 0 {
                elements.push(Element::Block(Block {
                    end,
                    count: ran as u32,
                    last_len: unit as u8,
                    class: Class::NEXT,
                    ended: Ended::Cut,
                    ..node.block(Ended::Cut)
                }));
            }
            elements.push(Element::Exception(Exception {
                number: 0xe,
                interrupt: false,
                value: None,
                return_address: Some(end),
                at_target: false,
            }));
            count(&mut elements, rng);
            if rng.one_in(2) {
                let non_secure = context.security == Security::Secure;
                context.security = if non_secure { Security::NonSecure } else { Security::Secure };
                elements.push(Element::Context(context, at.1));
            }
            at = *rng.pick(&program.entries);
            calls.clear();
            continue;
        }
        let class = node.class();
        let taken = !class.conditional || rng.one_in(2);
        let block = node.block(node.ended(taken));
        assert!(block.count > 0 && class != Class::NEXT, "{block:x?}");
        elements.push(Element::Block(block));
        count(&mut elements, rng);
        let next = (block.end, block.isa);
        at = match class.flow {
            Flow::Direct if taken => node.direct_target().unwrap(),
            // A call may go where the last call returns to.
            Flow::Indirect if rng.one_in(5) == (class.role != Role::Return) && !calls.is_empty() => {
                calls.pop().unwrap()
            }
            Flow::Indirect => *rng.pick(&program.entries),
            _ => next,
        };
        if class.role == Role::Call {
            calls.push(next);
        }
        match rng.below(30) {
            0 if params.timestamps() => {
                time += rng.sized(30);
                elements.push(Element::Timestamp { value: time, cycles: None });
            }
            1 => elements.push(Element::Trigger),
            2 if class.role == Role::Return => elements.push(Element::ExceptionReturn),
            3 if params.context_id_bytes() > 0 => {
                context.context_id = Some(rng.below(0x80) as u32);
                elements.push(Element::Context(context, at.1));
            }
            4 if params.vmids() => {
                context.vmid = Some(rng.below(0x100) as u32);
                elements.push(Element::Context(context, at.1));
            }
            _ => {}
        }
    }
    // The last waypoint must be told without an address.
    let is_last =
        |element: &Element| matches!(element, Element::Block(block) if block.ended == Ended::NotTaken);
    let len = elements.iter().rposition(is_last).map_or(0, |last| last + 1);
    elements.truncate(len);
    elements
}

pub(in crate::ptm) fn encode(params: &Params, elements: &[Element], options: encode::Options) -> Vec<u8> {
    let (mut encoder, mut bytes) = (Encoder::new(params.clone(), options), Vec::new());
    for element in elements.iter().chain([&Element::End]) {
        encoder.element(element, &mut bytes).unwrap();
    }
    bytes
}

struct Feed<'d, 'i>(&'d mut Decoder<'i>, Vec<(u64, Element)>);

impl PacketSink<Packet> for Feed<'_, '_> {
    fn packet(&mut self, offset: u64, _: &[u8], packet: &Packet) {
        let elements = &mut self.1;
        self.0
            .packet(offset, packet, &mut |offset: u64, element: &Element| elements.push((offset, *element)));
    }
}

fn decode(params: &Params, image: &Image, chunks: &[&[u8]]) -> Vec<(u64, Element)> {
    let mut decoder = Decoder::new(params, image, Options::default()).unwrap();
    let mut parser = Parser::new(params.clone());
    let mut feed = Feed(&mut decoder, Vec::new());
    for chunk in chunks {
        parser.feed(chunk, &mut feed);
    }
    parser.finish(&mut feed);
    let Feed(_, mut elements) = feed;
    decoder
        .finish(parser.position(), &mut |offset: u64, element: &Element| elements.push((offset, *element)));
    elements
}

/// What a decoder says again, and what depends on where packets end.
pub(in crate::ptm) fn plain(elements: impl IntoIterator<Item = Element>) -> Vec<Element> {
    let mut last = None;
    let mut plain: Vec<Element> = Vec::new();
    for element in elements {
        match element {
            Element::Context(context, _) if last.replace(context) == Some(context) => {}
            Element::Context(context, _) => {
                // A virtual machine ID comes after its I-Sync.
                if let Some(Element::Context(..)) = plain.last() {
                    plain.pop();
                }
                plain.push(Element::Context(context, Isa::A32));
            }
            Element::Lost(_) | Element::Gap { .. } | Element::End => {}
            _ => plain.push(element),
        }
    }
    plain
}

fn all_params() -> impl Iterator<Item = Params> {
    (0..128_u32).map(|bits| {
        let bit = |from: u32, to: u32| (bits >> from & 1) << to;
        let etmcr = bit(0, 8) | bit(1, 12) | bit(2, 14) | bit(3, 15) | bit(4, 28) | bit(5, 29) | bit(6, 30);
        Params::new(&Registers { etmcr, ..Registers::default() }).unwrap()
    })
}

#[test]
fn what_is_encoded_is_decoded_to_the_same() {
    let mut compared = 0;
    for (seed, params) in (0..).zip(all_params()) {
        let mut rng = Rng::new(seed);
        let program = program(&mut rng);
        let ran = execute(&program, &mut rng, 400, &params);
        let sync_every = core::num::NonZero::new(40 + rng.below(400) as u32);
        let options = encode::Options { sync_every, return_stack: 1 + rng.below(16) as u8 };
        let bytes = encode(&params, &ran, options);
        let decoded = decode(&params, &program.image, &[&bytes]);
        let found = plain(decoded.iter().map(|(_, element)| *element));
        let expected = plain(ran);
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "seed {seed}, element {i}, {params:x?}");
        }
        assert_eq!(found.len(), expected.len(), "seed {seed}");
        compared += found.len();
        // Chunks change nothing, and packets write themselves as they were.
        let chunks = rng.chunks(&bytes);
        assert_eq!(decode(&params, &program.image, &chunks), decoded);
        let mut again = Vec::new();
        Parser::new(params.clone()).feed(&bytes, &mut |_: u64, _: &[u8], packet: &Packet| {
            packet.write(&params, &mut again);
        });
        assert_eq!(again, bytes);
    }
    assert!(compared > 40_000, "{compared}: too little compared");
}

#[test]
fn damage_ends_at_the_next_synchronisation() {
    for (seed, params) in (0..).zip(all_params()) {
        let mut rng = Rng::new(1000 + seed);
        let program = program(&mut rng);
        let ran = execute(&program, &mut rng, 300, &params);
        let options = encode::Options { sync_every: core::num::NonZero::new(100), ..Default::default() };
        let bytes = encode(&params, &ran, options);
        let right = decode(&params, &program.image, &[&bytes]);
        for _ in 0..20 {
            let at = rng.below(bytes.len() as u64) as usize;
            let mut wrong = bytes.clone();
            match rng.below(3) {
                0 => wrong[at] ^= 1 << rng.below(8),
                1 => {
                    wrong.remove(at);
                }
                _ => wrong.insert(at, rng.below(256) as u8),
            }
            let decoded = decode(&params, &program.image, &[&wrong]);
            // After the second A-Sync behind the damage all is as before: the first may be the one that was hit.
            let moved = wrong.len() as i64 - bytes.len() as i64;
            let syncs = |from: usize| tracewright_core::stream::find(&bytes, from, crate::shared::ZEROS);
            let Some(sure) = syncs(at + 1).and_then(|sync| syncs(sync + 6)).and_then(|sync| syncs(sync + 6))
            else {
                continue;
            };
            let after = |elements: &[(u64, Element)], moved: i64| {
                let of = |&(offset, element): &(u64, Element)| (offset as i64 - moved, element);
                let blocks = elements.iter().map(of).filter(|(offset, element)| {
                    *offset >= sure as i64 && matches!(element, Element::Block(_) | Element::Exception(_))
                });
                blocks.collect::<Vec<_>>()
            };
            assert_eq!(after(&decoded, moved), after(&right, 0), "seed {seed}, {at:#x}");
        }
    }
}

/// Bytes that nobody made: no panic, no hang, and each byte in one packet.
#[test]
fn any_bytes_are_read() {
    for (seed, params) in (0..).zip(all_params()) {
        let mut rng = Rng::new(2000 + seed);
        let program = program(&mut rng);
        let mut bytes = vec![0, 0, 0, 0, 0, 0x80];
        for _ in 0..50 {
            bytes.extend(rng.bytes_below(20));
            if rng.one_in(3) {
                bytes.extend([0, 0, 0, 0, 0, 0x80, 8, 0, 0, 0, 0x80, 0x21, 0]);
            }
        }
        decode(&params, &program.image, &[&bytes]);
        let mut end = 0;
        let mut sink = |offset: u64, bytes: &[u8], packet: &Packet| {
            assert_eq!(offset, end);
            end += if let Packet::NotSync { len } = packet { *len } else { bytes.len() as u64 };
        };
        let mut parser = Parser::new(params.clone());
        parser.feed(&bytes, &mut sink);
        parser.finish(&mut sink);
        assert_eq!(end, bytes.len() as u64);
    }
}

/// Where code is missing, less is decoded, and nothing that did not run.
#[test]
fn without_some_code_nothing_else_is_decoded() {
    let (mut decoded, mut executed, mut unseen) = (0, 0, 0);
    for (seed, params) in (0..).zip((0..5).flat_map(|_| all_params())) {
        let mut rng = Rng::new(3000 + seed);
        let program = program(&mut rng);
        let mut part = Image::builder();
        for (base, bytes) in &program.code {
            let hole = rng.below(bytes.len() as u64 / 4) as usize * 4;
            let after = (hole + 32).min(bytes.len());
            part.raw("code", Bytes::from(bytes[..hole.max(4)].to_vec()), *base, MemorySpace::ANY).unwrap();
            if after < bytes.len() {
                let address = base + after as u64;
                part.raw("code", Bytes::from(bytes[after..].to_vec()), address, MemorySpace::ANY).unwrap();
            }
        }
        let ran = execute(&program, &mut rng, 300, &params);
        let bytes = encode(&params, &ran, encode::Options::default());
        let mut addresses = |image: &Image| {
            let mut told = BTreeMap::<u64, Vec<u64>>::new();
            for (offset, element) in decode(&params, image, &[&bytes]) {
                match element {
                    Element::Block(block) => {
                        let all = Instructions::new(&program.image, SPACE, &block).map(|of| of.address);
                        told.entry(offset).or_default().extend(all);
                    }
                    Element::UnknownPath { .. } => unseen += 1,
                    _ => {}
                }
            }
            told
        };
        let expected = addresses(&program.image);
        for (offset, found) in addresses(&part.build()) {
            let mut of_packet = expected.get(&offset).into_iter().flatten();
            let ran = found.iter().all(|address| of_packet.any(|of| of == address));
            assert!(ran, "seed {seed}, packet at {offset:#x}: {found:x?}, of {:x?}", expected.get(&offset));
            decoded += found.len();
        }
        executed += expected.values().map(Vec::len).sum::<usize>();
    }
    assert!(2 * decoded > executed && decoded < executed, "{decoded} of {executed}");
    assert!(unseen > 20, "{unseen}");
}
