//! Random programs under random trace units: what was executed, encoded and decoded, is what was executed.

use std::collections::BTreeMap;

use tracewright_core::{Element, Ended, Flow, GapReason, MemorySpace};
use tracewright_etm::Params;
use tracewright_etm::decode::{Decoder, Feed, Options};
use tracewright_etm::packet::Parser;
use tracewright_flow::{BlockCounts, Counts, ElementSink, Instructions, Where};
use tracewright_image::{Builder, Bytes, Image};
use tracewright_testkit::program::{self, Program};
use tracewright_testkit::{Reader, Rng, Run, traced};

pub fn image(program: &Program) -> Image {
    let mut builder = Builder::default();
    for segment in &program.segments {
        let bytes = Bytes::new(segment.bytes.clone());
        builder.raw("program", bytes, segment.address, MemorySpace::ANY).unwrap();
    }
    builder.build()
}

fn decode(run: &Run, image: &Image) -> Vec<Element> {
    let mut elements = Vec::new();
    let told = |_: u64, element: &Element| match element {
        // The start of the trace and of each gap are known.
        Element::Lost(GapReason::Start) | Element::Gap { .. } => {}
        element => elements.push(*element),
    };
    decode_into(run, image, 1, told);
    elements
}

/// Decodes the trace `times` times.
fn decode_into<'i, S: ElementSink>(run: &Run, image: &'i Image, times: usize, sink: S) -> Feed<'i, S> {
    let params = Params::new(&run.registers).unwrap();
    let decoder = Decoder::new(&params, image, Options::default()).unwrap();
    let mut feed = Feed { decoder, sink };
    let mut parser = Parser::new(params);
    for _ in 0..times {
        parser.feed(run.trace(), &mut feed);
        parser.finish(&mut feed);
        feed.decoder.finish(parser.position(), &mut feed.sink);
    }
    feed
}

/// Sums over blocks, computed the slow way.
#[derive(Default)]
struct Naive {
    profile: BlockCounts,
    /// Last indirect branch that was taken, if nothing came after it.
    from: Option<Where>,
    space: MemorySpace,
}

impl ElementSink for Naive {
    fn element(&mut self, _: u64, element: &Element) {
        match element {
            Element::Block(block) => {
                *self.profile.blocks.entry((*block, self.space)).or_default() += 1;
                if let Some(from) = self.from.take() {
                    *self.profile.indirect.entry((from, (block.start, self.space))).or_default() += 1;
                }
                if block.ended == Ended::Taken && block.class.flow == Flow::Indirect {
                    self.from = Some((block.last(), self.space));
                }
            }
            // After these, the branch does not determine where execution goes on.
            Element::Context(context, _) => self.space = context.space(),
            Element::Exception(_) | Element::TraceOn(_) | Element::Lost(_) | Element::End => self.from = None,
            _ => {}
        }
    }
}

/// Fast counting equals slow counting. Return stacks hide the targets of returns from the counted edges, but not from
/// the blocks.
#[test]
fn counting_by_node_and_path_is_counting_blocks() {
    for seed in 0..120 {
        let mut rng = Rng::new(seed);
        let size = 1 << (6 + rng.below(7));
        let program = program::generate(&mut rng, size);
        let image = image(&program);
        let run = Run::random(&mut rng, &program, 0x10, Reader::Any);
        let naive = decode_into(&run, &image, 3, Naive::default()).sink;
        let Feed { decoder, sink: counts } = decode_into(&run, &image, 3, Counts::new());
        let profile = counts.finish(decoder.walker().graph());
        assert_eq!(profile.blocks, naive.profile.blocks, "seed {seed}, {:x?}", run.registers);
        if run.registers.trcconfigr & 1 << 12 == 0 {
            assert_eq!(profile.indirect, naive.profile.indirect, "seed {seed}, {:x?}", run.registers);
        }
    }
}

/// More seeds than usual: `ROUND_TRIP_SEEDS=1000-9000 cargo test -p tracewright-etm --test it round_trip`.
#[test]
fn decoding_gives_back_what_was_encoded() {
    let seeds = std::env::var("ROUND_TRIP_SEEDS").unwrap_or("0-250".into());
    let (from, to) = seeds.split_once('-').unwrap();
    for seed in from.parse::<u64>().unwrap()..to.parse().unwrap() {
        let mut rng = Rng::new(seed);
        let size = 1 << (6 + rng.below(7));
        let program = program::generate(&mut rng, size);
        let image = image(&program);
        for _ in 0..4 {
            let run = Run::random(&mut rng, &program, 0x10, Reader::Any);
            let expected = traced(&run.registers, run.executed.iter().copied());
            let decoded = traced(&run.registers, decode(&run, &image));
            let differs = (0..expected.len().max(decoded.len())).find(|&i| decoded.get(i) != expected.get(i));
            if let Some(i) = differs {
                let (decoded, expected) = (decoded.get(i), expected.get(i));
                let Run { registers, options, start, .. } = &run;
                panic!(
                    "seed {seed}, {registers:x?}, {options:x?}, start {start}, element {i}:\n  \
                     executed {expected:x?}\n  decoded  {decoded:x?}"
                );
            }
        }
    }
}

/// The program without a part of its code.
fn image_with_hole(program: &Program, rng: &mut Rng) -> Image {
    let mut builder = Builder::default();
    for segment in &program.segments {
        let (len, unit) = (segment.bytes.len() as u64, 4);
        let from = rng.below(len / unit) * unit;
        let to = (from + unit * (1 + rng.sized(8))).min(len);
        for part in [0..from, to..len] {
            let bytes = segment.bytes[part.start as usize..part.end as usize].to_vec();
            if !bytes.is_empty() {
                builder
                    .raw("part", Bytes::new(bytes), segment.address + part.start, MemorySpace::ANY)
                    .unwrap();
            }
        }
    }
    builder.build()
}

/// Instructions by the packet that told them, in order.
fn instructions(run: &Run, image: &Image, whole: &Image) -> BTreeMap<u64, Vec<u64>> {
    let mut told = BTreeMap::<u64, Vec<u64>>::new();
    decode_into(run, image, 1, |offset: u64, element: &Element| {
        if let Element::Block(block) = element {
            let addresses = Instructions::new(whole, MemorySpace::ANY, block).map(|of| of.address);
            told.entry(offset).or_default().extend(addresses);
        }
    });
    told
}

/// Where code is missing, less is decoded, and nothing that did not run: calls and returns that were not seen leave the return stack
/// unknown.
#[test]
fn without_some_code_nothing_else_is_decoded() {
    let (mut decoded, mut executed, mut unseen) = (0, 0, 0);
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let size = 1 << (8 + rng.below(4));
        let program = program::generate(&mut rng, size);
        let whole = image(&program);
        let part = image_with_hole(&program, &mut rng);
        let run = Run::random(&mut rng, &program, 0x10, Reader::Any);
        let expected = instructions(&run, &whole, &whole);
        for (offset, found) in instructions(&run, &part, &whole) {
            let mut ran = expected.get(&offset).into_iter().flatten();
            let ran = found.iter().all(|address| ran.any(|of| of == address));
            assert!(ran, "seed {seed}, packet at {offset:#x}: {found:x?}, of {:x?}", expected.get(&offset));
            decoded += found.len();
        }
        executed += expected.values().map(Vec::len).sum::<usize>();
        decode_into(&run, &part, 1, |_: u64, element: &Element| {
            unseen += u32::from(matches!(element, Element::UnknownPath { start: None, count: None, .. }));
        });
    }
    assert!(2 * decoded > executed && decoded < executed, "{decoded} of {executed}");
    assert!(unseen > 20, "{unseen}");
}
