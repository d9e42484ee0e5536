//! Our engines.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use tracewright_core::{Block, Element, Ended};
use tracewright_etm::Params;
use tracewright_etm::decode::{Decoder, Feed, Options};
use tracewright_etm::packet::{AtomRun, Kind, Packet, PacketSink, Parser, Resync};
use tracewright_flow::{BlockCounts, Counts};
use tracewright_frames::{Deframer, Demux, Format, Lost, Run};

use crate::Layer;
use crate::answer::{Answer, Fnv};
use crate::inputs::{Input, Streams};

/// Bytes deframed before they are parsed, so that they are still in the cache.
const CHUNK: usize = 1 << 18;

/// Reads the input `repeat` times as one long trace. Times with a sink that only counts; the answer is from a
/// second, untimed pass.
pub fn run(input: &Input, layer: Layer, repeat: usize) -> (u64, Answer) {
    let bytes = input.bytes(layer);
    let start = Instant::now();
    match layer {
        Layer::Frames => {
            let mut deframer = Deframer::new(Format::Aligned);
            let mut lengths = Lengths([0; 0x80]);
            (0..repeat).for_each(|_| deframer.feed(bytes, &mut lengths));
            deframer.finish(&mut lengths);
            black_box(lengths.0);
        }
        Layer::Packets => {
            let mut sink = Count::new();
            let mut parser = parser(input, input.main);
            (0..repeat).for_each(|_| parser.feed(bytes, &mut sink));
            parser.finish(&mut sink);
            black_box((sink.counts, sink.values));
        }
        Layer::Both => {
            let mut sinks: Vec<_> = input.sources.iter().map(|_| Count::new()).collect();
            both(input, repeat, &mut sinks);
            black_box(sinks.iter().map(|sink| sink.values).fold(0, u64::wrapping_add));
        }
        Layer::Blocks => {
            let mut sinks = decoders(input, Blocks::default);
            both(input, repeat, &mut sinks);
            black_box(sinks.iter().map(|feed| feed.sink.sum).fold(0, u64::wrapping_add));
        }
        Layer::Profile => {
            let mut sinks = decoders(input, Counts::new);
            both(input, repeat, &mut sinks);
            black_box(profiles(sinks));
        }
    }
    let ns = start.elapsed().as_nanos() as u64;
    (ns, answer(input, layer))
}

/// Copies the bytes `repeat` times; nanoseconds.
pub fn memcpy(bytes: &[u8], repeat: usize) -> u64 {
    let mut to = vec![0u8; bytes.len()];
    let start = Instant::now();
    for _ in 0..repeat {
        to.copy_from_slice(black_box(bytes));
        black_box(&mut to);
    }
    start.elapsed().as_nanos() as u64
}

/// Each source's bytes.
pub fn deframe(bytes: &[u8]) -> Streams {
    let mut demux = Demux::new();
    let mut deframer = Deframer::new(Format::Aligned);
    deframer.feed(bytes, &mut demux);
    deframer.finish(&mut demux);
    demux.streams().map(|(id, stream)| (id.get(), stream.bytes.clone())).collect()
}

fn parser(input: &Input, source: usize) -> Parser {
    // As OpenCSD's packet stage goes on after an error, so that the answers compare.
    Parser::new(input.sources[source].1.clone()).with_resync(Resync::NextByte)
}

fn both<S: PacketSink<Packet, AtomRun>>(input: &Input, repeat: usize, sinks: &mut [S]) {
    let mut parsers: Vec<_> = (0..input.sources.len()).map(|source| parser(input, source)).collect();
    let mut deframer = Deframer::new(Format::Aligned);
    let mut demux = Demux::new();
    let mut parse = |demux: &mut Demux| {
        for (id, stream) in demux.streams() {
            if let Some(source) = input.sources.iter().position(|(_, params)| params.id() == id) {
                parsers[source].feed(&stream.bytes, &mut sinks[source]);
            }
        }
        demux.clear();
    };
    for _ in 0..repeat {
        for chunk in input.bytes(Layer::Both).chunks(CHUNK) {
            deframer.feed(chunk, &mut demux);
            parse(&mut demux);
        }
    }
    deframer.finish(&mut demux);
    parse(&mut demux);
    for (parser, sink) in parsers.iter_mut().zip(sinks) {
        parser.finish(sink);
    }
}

fn answer(input: &Input, layer: Layer) -> Answer {
    let mut counts = BTreeMap::new();
    let mut digest = 0;
    let mut packets = |sink: &Digest| {
        for (kind, &count) in Kind::ALL.iter().zip(&sink.counts) {
            add(&mut counts, kind.opencsd_name(), count);
        }
        digest ^= sink.fnv.of_source();
    };
    match layer {
        Layer::Frames => {
            let streams = deframe(input.bytes(layer));
            // OpenCSD's driver listens to IDs of sources only.
            for (id, bytes) in streams.iter().filter(|(id, _)| (0x01..=0x6f).contains(*id)) {
                counts.insert(format!("{id:#04x}"), bytes.len() as u64);
                let mut fnv = Fnv::START;
                fnv.add(bytes);
                digest ^= fnv.of_source();
            }
        }
        Layer::Packets => {
            let mut sink = Digest::new();
            let mut parser = parser(input, input.main);
            parser.feed(input.bytes(layer), &mut sink);
            parser.finish(&mut sink);
            packets(&sink);
        }
        Layer::Both => {
            let mut sinks: Vec<_> = input.sources.iter().map(|_| Digest::new()).collect();
            both(input, 1, &mut sinks);
            sinks.iter().for_each(packets);
        }
        Layer::Blocks => {
            let mut sinks = decoders(input, Elements::default);
            both(input, 1, &mut sinks);
            for Feed { sink: out, .. } in sinks {
                digest ^= out.fnv.map_or(0, Fnv::of_source);
                add(&mut counts, "ranges", out.ranges);
                add(&mut counts, "instructions", out.instructions);
                add(&mut counts, "exceptions", out.exceptions);
            }
        }
        Layer::Profile => {
            let mut sinks = decoders(input, Counts::new);
            both(input, 1, &mut sinks);
            for ((block, _), count) in profiles(sinks).iter().flat_map(|profile| &profile.blocks) {
                let mut fnv = Fnv::START;
                words(block).iter().for_each(|word| fnv.add(&word.to_le_bytes()));
                digest = u64::wrapping_add(digest, fnv.0.wrapping_mul(*count));
                add(&mut counts, "ranges", *count);
                add(&mut counts, "instructions", u64::from(block.count) * count);
            }
        }
    }
    Answer { counts, digest: Some(digest) }
}

/// Adds up lengths, as OpenCSD's driver does.
struct Lengths([u64; 0x80]);

impl tracewright_frames::FrameSink for Lengths {
    #[inline]
    fn data(&mut self, run: Run, bytes: &[u8]) {
        self.0[usize::from(run.id.get()) & 0x7f] += bytes.len() as u64;
    }

    fn lost(&mut self, _lost: Lost) {}

    fn reset(&mut self, _offset: u64) {}
}

/// Counts packets by header, and uses their values so that none is left uncomputed.
struct Count {
    counts: [u64; 256],
    values: u64,
}

impl Count {
    fn new() -> Self {
        Self { counts: [0; 256], values: 0 }
    }
}

impl PacketSink<Packet, AtomRun> for Count {
    #[inline(always)]
    fn packet(&mut self, _offset: u64, bytes: &[u8], packet: &Packet) {
        if let Some(&header) = bytes.first() {
            self.counts[usize::from(header)] += 1;
        }
        let value = match packet {
            Packet::Atom(atoms) => atoms.bits.into(),
            Packet::Address(address) | Packet::AddressContext(address, _) => address.value,
            Packet::CycleCount(count) => count.cycles.unwrap_or(0).into(),
            Packet::Timestamp(timestamp) => timestamp.value,
            _ => 0,
        };
        self.values = self.values.wrapping_add(value);
    }
}

/// Counts by kind and hashes values, as documented in `engines/opencsd.c`.
struct Digest {
    counts: [u64; Kind::COUNT],
    fnv: Fnv,
}

impl Digest {
    fn new() -> Self {
        Self { counts: [0; Kind::COUNT], fnv: Fnv::START }
    }
}

impl PacketSink<Packet, AtomRun> for Digest {
    fn packet(&mut self, _offset: u64, _bytes: &[u8], packet: &Packet) {
        self.counts[packet.kind() as usize] += 1;
        let (class, value) = match packet {
            Packet::Atom(atoms) => (1, u64::from(atoms.count) << 32 | u64::from(atoms.bits)),
            Packet::Address(address)
            | Packet::AddressContext(address, _)
            | Packet::SourceAddress(address) => (2, address.value),
            Packet::Timestamp(timestamp) => (3, timestamp.value),
            Packet::CycleCount(count) => (4, count.cycles.unwrap_or(0).into()),
            Packet::Exception(exception) => (5, exception.number.into()),
            _ => return,
        };
        self.fnv.add(&[class]);
        self.fnv.add(&value.to_le_bytes());
    }
}

fn add(counts: &mut BTreeMap<String, u64>, name: &str, count: u64) {
    if count > 0 {
        *counts.entry(name.to_owned()).or_default() += count;
    }
}

/// A block as OpenCSD's driver hashes it.
fn words(block: &Block) -> [u64; 3] {
    [block.start, block.end, u64::from(block.count) << 1 | u64::from(block.ended != Ended::NotTaken)]
}

fn decoders<S>(input: &Input, out: impl Fn() -> S) -> Vec<Feed<'_, S>> {
    // As OpenCSD does, so that the answers compare.
    let options = Options { trust_images: true, ..Options::default() };
    let decoder = |(_, params): &(String, Params)| Decoder::new(params, &input.image, options);
    let decoders = input.sources.iter().map(|source| decoder(source).expect("can be decoded"));
    decoders.map(|decoder| Feed { decoder, sink: out() }).collect()
}

fn profiles(counted: Vec<Feed<'_, Counts>>) -> Vec<BlockCounts> {
    counted.into_iter().map(|Feed { decoder, sink }| sink.finish(decoder.walker().graph())).collect()
}

/// Counts and checksums blocks.
#[derive(Default)]
pub struct Blocks {
    blocks: u64,
    instructions: u64,
    pub sum: u64,
}

impl tracewright_flow::ElementSink for Blocks {
    fn element(&mut self, _offset: u64, _element: &Element) {}

    #[inline(always)]
    fn block(&mut self, _offset: u64, block: &Block) {
        self.blocks += 1;
        self.instructions += u64::from(block.count);
        self.sum = self.sum.rotate_left(1) ^ block.start ^ block.end << 1 ^ u64::from(block.ended as u8);
    }
}

/// Counts and hashes elements as documented in `engines/opencsd.c`.
#[derive(Default)]
struct Elements {
    ranges: u64,
    instructions: u64,
    exceptions: u64,
    fnv: Option<Fnv>,
}

impl tracewright_flow::ElementSink for Elements {
    fn element(&mut self, _offset: u64, element: &Element) {
        let fnv = self.fnv.get_or_insert(Fnv::START);
        let mut add = |value: u64| fnv.add(&value.to_le_bytes());
        match element {
            Element::Block(block) => {
                self.ranges += 1;
                self.instructions += u64::from(block.count);
                words(block).into_iter().for_each(add);
            }
            Element::Exception(exception) => {
                self.exceptions += 1;
                add(exception.number.into());
                add(exception.return_address.unwrap_or(0));
            }
            _ => {}
        }
    }
}
