//! Packets, rings, and executions of random T32 programs: what is encoded is decoded to the same.

use tracewright_core::{Block, Class, Element, Ended, Exception, Flow, Isa, MemorySpace, Mismatch, TraceOn};
use tracewright_flow::{Graph, Node};
use tracewright_image::{Bytes, Image};
use tracewright_testkit::Rng;

use super::decode::{Decoder, Options};
use super::encode::Encoder;
use super::packet::{Branch, Kind, Packet, Parser};
use super::{Params, Ring, TooShort};

const CODE: u64 = 0x1000;
const BLOCKS: u64 = 40;
/// Bytes of a block of a program.
const SIZE: u64 = 16;
const HANDLERS: u64 = 5;

/// Blocks of `SIZE` bytes, each with a branch or a barrier at its end, and a table of vectors at 0 for the first of them.
fn program(rng: &mut Rng) -> Image {
    let mut code = Vec::new();
    for block in 0..BLOCKS {
        let at = CODE + SIZE * (block + 1) - 2;
        let near = CODE + SIZE * (block + rng.below(8)).saturating_sub(4).min(BLOCKS - 1);
        let offset = near.wrapping_sub(at + 4);
        let last: u16 = match rng.below(7) {
            _ if block + 1 == BLOCKS => 0x4770,
            0 => 0xe000 | (offset >> 1) as u16 & 0x7ff,
            1..3 => 0xd000 | (offset >> 1) as u16 & 0xff,
            3 => 0x4788,
            4 => 0xbf30,
            5 => 0xbf00,
            _ => 0x4770,
        };
        // Three of two bytes, two of four, and the last.
        for half in [0xbf00, 0xf3af, 0x8000, 0xbf00, 0xf3af, 0x8000, 0xbf00, last] {
            code.extend(half.to_le_bytes());
        }
    }
    let vectors = (0..=HANDLERS).map(|number| match number {
        0 => 0x2000_0000_u32,
        _ => (CODE + SIZE * number) as u32 | 1,
    });
    let mut builder = Image::builder();
    let vectors: Vec<u8> = vectors.flat_map(u32::to_le_bytes).collect();
    builder.raw("vectors", Bytes::from(vectors), 0, MemorySpace::ANY).unwrap();
    builder.raw("code", Bytes::from(code), CODE, MemorySpace::ANY).unwrap();
    builder.build()
}

/// The part of a node before an exception, after `ran` of its instructions.
fn cut(node: &Node, ran: u32) -> Option<Block> {
    let lens = [2_u8, 4, 2, 4, 2];
    let at = (node.start() - CODE) % SIZE;
    let mut offset = 0;
    let before = lens.iter().take_while(|&&len| {
        let is_before = offset < at;
        offset += u64::from(len);
        is_before
    });
    let skipped = before.count();
    let lens = lens.get(skipped..)?.get(..ran as usize)?;
    let end = node.start() + lens.iter().map(|&len| u64::from(len)).sum::<u64>();
    let last_len = *lens.last()?;
    let (isa, class, ended) = (Isa::T32, Class::NEXT, Ended::Cut);
    Some(Block { start: node.start(), end, count: ran, isa, last_len, class, ended })
}

/// Runs a program with random outcomes, up to a taken branch, and returns also where that went.
fn execute(image: &Image, rng: &mut Rng) -> (Vec<Element>, u64) {
    let mut graph = Graph::new(image, false);
    let (mut at, mut returns, mut elements) = (CODE, Vec::new(), vec![Element::TraceOn(TraceOn::Normal)]);
    let steps = 5 + rng.below(200);
    for step in 0.. {
        let id = graph.at(at, Isa::T32, MemorySpace::ANY);
        let node = *graph.node(id);
        if rng.one_in(15) && returns.len() < 4 && step > 0 {
            let part = cut(&node, rng.below(5) as u32);
            at = part.map_or(at, |part| part.end);
            elements.extend(part.map(Element::Block));
            returns.push(at);
            let number = 1 + rng.below(HANDLERS) as u16;
            let return_address = Some(at);
            let exception =
                Exception { number, interrupt: false, value: None, return_address, at_target: false };
            elements.push(Element::Exception(exception));
            at = CODE + SIZE * u64::from(number);
            continue;
        }
        let is_branch = node.class().is_branch();
        let taken = is_branch && (!node.class().conditional || rng.one_in(2));
        elements.push(Element::Block(node.block(node.ended(taken))));
        let is_return = node.class().flow == Flow::Indirect && !returns.is_empty() && rng.one_in(2);
        at = match (taken, node.direct_target()) {
            (false, _) => node.end(),
            (true, Some((target, _))) => target,
            (true, None) if is_return => {
                elements.push(Element::ExceptionReturn);
                returns.pop().unwrap()
            }
            (true, None) => CODE + SIZE * rng.below(BLOCKS),
        };
        if taken && !is_return && step >= steps {
            break;
        }
    }
    (elements, at)
}

fn decode(image: &Image, bytes: &[u8], chunk: usize, options: Options) -> Vec<Element> {
    let mut decoder = Decoder::new(&Params::default(), image, options);
    let (mut parser, mut elements) = (Parser::default(), Vec::new());
    let mut take = |_: u64, element: &Element| elements.push(*element);
    for chunk in bytes.chunks(chunk) {
        parser.feed(chunk, &mut |offset: u64, _: &[u8], packet: &Packet| {
            decoder.packet(offset, packet, &mut take);
        });
    }
    decoder.finish(parser.position(), &mut take);
    elements
}

#[test]
fn executions_come_back() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let image = program(&mut rng);
        let (ran, end) = execute(&image, &mut rng);
        let (mut encoder, mut bytes) = (Encoder::new(), Vec::new());
        for element in &ran {
            encoder.element(element, &mut bytes).unwrap();
        }
        // The target of the last branch is told by what runs there.
        let last = Block { start: end, end: end + 2, ..first_block(&ran) };
        encoder.element(&Element::Block(last), &mut bytes).unwrap();
        // Of what ran before the first packet, only its branch is known.
        let is_taken =
            |element: &Element| matches!(element, Element::Block(Block { ended: Ended::Taken, .. }));
        let is_told = |element: &Element| is_taken(element) || matches!(element, Element::Exception(_));
        let first = ran.iter().position(is_told).unwrap();
        let mut expected = vec![ran[0]];
        expected.push(match ran[first] {
            Element::Block(block) => Element::Block(Block { start: block.last(), count: 1, ..block }),
            other => other,
        });
        expected.extend(&ran[first + 1..]);
        expected.push(Element::End);
        for chunk in [1, 3, 8, 1 << 12] {
            let decoded = decode(&image, &bytes, chunk, Options::default());
            let differs = decoded.iter().zip(&expected).find(|(one, other)| one != other);
            assert!(decoded == expected, "seed {seed}: {differs:?}");
        }
    }
}

fn first_block(ran: &[Element]) -> Block {
    ran.iter()
        .find_map(|element| if let Element::Block(block) = element { Some(*block) } else { None })
        .unwrap()
}

#[test]
fn packets_are_read_and_written() {
    // As the technical reference manual describes them: a branch, an exception, and the two packets of a return.
    let words: [(u32, u32, Kind, &str); 5] = [
        (0x1000, 0x2001, Kind::Branch, "Branch: 0x00001000 to 0x00002000, tracing started"),
        (0x2005, 0x3000, Kind::Exception, "Exception: 0x00002004 to 0x00003000"),
        (0x3008, 0xffff_fff8, Kind::ExceptionReturn, "Exception Return: 0x00003008 to 0xfffffff8"),
        (0xffff_fff9, 0x2004, Kind::Resumed, "Resumed: 0xfffffff8 to 0x00002004"),
        (0, 0, Kind::Unused, "Unused"),
    ];
    for (source, target, kind, text) in words {
        let bytes: Vec<u8> = [source, target].iter().flat_map(|word| word.to_le_bytes()).collect();
        let packet = Packet::read(bytes.clone().try_into().unwrap());
        assert_eq!((packet.kind(), packet.to_string().as_str()), (kind, text));
        if let Packet::Branch(branch) = packet {
            assert_eq!(branch.bytes(), *bytes);
        }
    }
    let mut seen = Vec::new();
    let mut parser = Parser::starting_at(16);
    let mut take =
        |offset: u64, bytes: &[u8], packet: &Packet| seen.push((offset, bytes.len(), packet.kind()));
    parser.feed(&[0; 11], &mut take);
    parser.finish(&mut take);
    assert_eq!(seen, [(16, 8, Kind::Unused), (24, 3, Kind::Incomplete)]);
}

#[test]
fn registers_tell_where_the_oldest_packet_is() {
    let ring = |position, len| Params { position, master: 0x8000_0005, vectors: 0 }.ring(len);
    let at = |start, oldest, written| Ok(Ring { start, size: 512, oldest, written });
    // Not full, full, and just full.
    assert_eq!(ring(0x2000_0040, 512), at(0, 0, 0x40));
    assert_eq!(ring(0x2000_0044, 512), at(0, 0x40, 512));
    assert_eq!(ring(4, 512), at(0, 0, 512));
    // Within a whole SRAM.
    assert_eq!(ring(0x644, 0x1000), at(0x600, 0x640, 512));
    assert_eq!(ring(0xe40, 0x1000), at(0xe00, 0xe00, 0x40));
    // A file that is cut, of which enough is there, and not.
    assert_eq!(ring(0x40, 0x43), at(0, 0, 0x40));
    let by = "MTB_POSITION and MTB_MASTER";
    assert_eq!(ring(0x44, 0x1ff), Err(TooShort { needed: 0x200, len: 0x1ff, by }));
    assert_eq!(ring(0x48, 0x47), Err(TooShort { needed: 0x48, len: 0x47, by }));
    assert_eq!(ring(0x2000_0044, 0x1000), Err(TooShort { needed: 0x2000_0200, len: 0x1000, by }));
    // The stream goes on at the ring's start.
    let ring = ring(0x644, 0x1000).unwrap();
    assert_eq!(
        [0x640, 0x7ff, 0x800, 0x83f].map(|position| ring.offset(position)),
        [0x640, 0x7ff, 0x600, 0x63f]
    );
    let largest = Params { position: u32::MAX, master: u32::MAX, vectors: 0 };
    assert_eq!(
        largest.ring(1 << 35),
        Ok(Ring { start: 0, size: 1 << 35, oldest: 0xffff_fff8, written: 1 << 35 })
    );
}

#[test]
fn an_exception_that_waited_follows_another() {
    let image = program(&mut Rng::new(1));
    let (handler, next) = ((CODE + SIZE) as u32, (CODE + 2 * SIZE) as u32);
    let packet = |source, target, exception| Branch { source, target, exception, start: false }.bytes();
    let bytes = [
        packet(0x1202, handler, true),
        packet(0xffff_fff8, next, true),
        packet(0xffff_fff8, 0x1202, true),
        packet(0x1204, next, true),
        // Back to the first instruction of a handler, which was interrupted.
        packet(next, handler, true),
        packet(0xffff_fff8, next, true),
    ];
    let told = decode(&image, &bytes.concat(), 8, Options::default());
    let told = told.iter().filter_map(|element| match element {
        Element::Exception(exception) => Some((exception.number, exception.return_address)),
        Element::ExceptionReturn => Some((0, None)),
        _ => None,
    });
    let expected =
        [(1, Some(0x1202)), (0, None), (2, None), (0, None), (2, Some(0x1204)), (1, Some(0x1020)), (0, None)];
    assert!(told.eq(expected));
}

#[test]
fn contradictions_are_told() {
    let image = program(&mut Rng::new(1));
    let packet = |source, target, exception| Branch { source, target, exception, start: false }.bytes();
    let told = |packets: &[[u8; 8]]| decode(&image, &packets.concat(), 8, Options::default());
    // The branch is not where the code has one.
    let bytes = [packet(0x1000, 0x1004, true), packet(0x1006, 0x1000, false)];
    let is_missed = |element: &Element| {
        matches!(element, Element::Mismatch(Mismatch::Missed { .. } | Mismatch::NotTaken(_)))
    };
    assert!(told(&bytes).iter().any(is_missed), "{:?}", told(&bytes));
    // No image has the code.
    let bytes = [packet(0x9000, 0x9100, false), packet(0x9110, 0x9000, false)];
    assert!(
        told(&bytes).iter().any(|element| matches!(element, Element::NoCode { address: 0x9000, .. })),
        "{:?}",
        told(&bytes)
    );
    // A debugger: no vector leads there. Then a part of the ring that was never written.
    let bytes = [packet(0x1000, 0x1100, true), [0xff; 8], packet(0x1000, 0x1010, true)];
    let told = told(&bytes);
    let expected = [TraceOn::Normal, TraceOn::Debug].map(Element::TraceOn);
    assert!(told.starts_with(&expected), "{told:?}");
    assert!(told.contains(&Element::Lost(tracewright_core::GapReason::Interrupted)));
    // Without a program.
    let bytes = packet(0x1000, 0x1100, false);
    let told = decode(&image, &bytes, 8, Options { no_image: true });
    assert!(told.contains(&Element::Target { address: 0x1100, isa: Isa::T32, branch: true }));
}
