//! PTM and ETMv3 beside OpenCSD: packets of one source's bytes, and blocks and profiles from the same bytes in frames.
//!
//! OpenCSD has a range for each instruction of an ETMv3, so the answers for it compare instructions.

mod made;
mod protocols;

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Instant;

use tracewright_core::stream::{PacketSink, Parser};
use tracewright_core::{Block, Element, Ended, MemorySpace, TraceId};
use tracewright_coresight::{etm3, ptm};
use tracewright_flow::{Counts, ElementSink, Instructions};
use tracewright_frames::{Deframer, Demux, Format, Framer, Options};
use tracewright_image::Image;
use tracewright_input::{Capture, Packing, Protocol, Source};
use tracewright_testkit::{Rng, captures, skip};

use self::protocols::Older;
use crate::Layer;
use crate::answer::{Answer, Fnv};
use crate::inputs::out_dir;
use crate::opencsd::OpenCsd;
use crate::{ROUND_BYTES, ROUNDS, SLOW_ROUND_BYTES, SLOW_ROUNDS, head, ours, row};

/// The word that picks all of them.
pub const NAME: &str = "coresight";

/// Bytes of a trace that is made.
const MADE: usize = 4 << 20;

const LAYERS: [Layer; 3] = [Layer::Packets, Layer::Blocks, Layer::Profile];

/// Counts packets by their first byte, and uses their values, so that none is left uncomputed.
struct Count<P> {
    counts: [u64; 256],
    values: u64,
    protocol: PhantomData<P>,
}

impl<P: Older> PacketSink<P::Packet, P::Run> for Count<P> {
    #[inline(always)]
    fn packet(&mut self, _: u64, bytes: &[u8], packet: &P::Packet) {
        if let Some(&header) = bytes.first() {
            self.counts[usize::from(header)] += 1;
        }
        self.values = self.values.wrapping_add(P::value(packet));
    }
}

/// A decoder and its sink. Rows of packets are taken together, as the engine does where blocks are counted.
struct Feed<'i, P: Older, S> {
    decoder: P::Decoder<'i>,
    sink: S,
}

impl<P: Older, S: ElementSink> PacketSink<P::Packet, P::Run> for Feed<'_, P, S> {
    const RUNS: bool = true;

    #[inline(always)]
    fn packet(&mut self, offset: u64, _: &[u8], packet: &P::Packet) {
        P::decode(&mut self.decoder, offset, packet, &mut self.sink);
    }

    #[inline(always)]
    fn run(&mut self, offset: u64, row: P::Run) {
        P::row(&mut self.decoder, offset, row, &mut self.sink);
    }
}

/// A source of a capture.
struct Traced<P> {
    name: String,
    params: P,
    unframed: Vec<u8>,
    framed: Vec<u8>,
    image: Image,
    /// The program as raw files.
    files: Vec<(PathBuf, u64)>,
}

impl<P: Older> Traced<P> {
    /// Opens the source of this protocol that has the most bytes.
    fn open(name: &str, capture: &Capture) -> Option<Self> {
        let bytes = fs::read(&capture.buffers[0].path).expect("the trace file");
        let streams = ours::deframe(&bytes);
        let params = |source: &Source| match &source.protocol {
            Protocol::Registered(params) => (&**params as &dyn std::any::Any).downcast_ref::<P>().cloned(),
            _ => None,
        };
        let buffer = &capture.buffers[0];
        let of = |params: &P| match buffer.format {
            Packing::Source => bytes.clone(),
            _ => streams.get(&params.id().get()).cloned().unwrap_or_default(),
        };
        let sources = buffer.sources.iter().filter_map(|&index| params(&capture.sources[index]));
        let sources = sources.map(|params| (of(&params), params)).filter(|(bytes, _)| !bytes.is_empty());
        let (unframed, params) = sources.max_by_key(|(bytes, _)| bytes.len())?;
        let framed = Self::framed(&params, &unframed);
        let mut files = Vec::new();
        for (index, dump) in capture.memory.iter().enumerate() {
            let bytes = fs::read(&dump.path).expect("a memory dump");
            let (from, len) = (dump.offset as usize, dump.length as usize);
            let path = out_dir().join(format!("{}-{index}.bin", P::NAME));
            fs::write(&path, &bytes[from..(from + len).min(bytes.len())]).expect("can be written");
            files.push((path, dump.address));
        }
        let (image, _) = capture.image(&[]);
        Some(Self { name: name.to_owned(), params, unframed, framed, image, files })
    }

    /// Traces a random program until there are `len` bytes.
    fn made(name: String, cycles: bool, len: usize) -> Self {
        let mut rng = Rng::new(1);
        let code = made::program(&mut rng);
        let path = out_dir().join("program-a32.bin");
        fs::write(&path, &code).expect("can be written");
        let mut builder = Image::builder();
        builder.raw("program", code.into(), made::BASE, MemorySpace::ANY).expect("is not empty");
        let image = builder.build();
        let params = P::with_cycles(cycles);
        let unframed = params.encode(|encode| {
            let mut bytes = Vec::new();
            made::run(&mut rng, &image, cycles, |element| {
                encode(element, &mut bytes);
                bytes.len() < len
            });
            bytes
        });
        let framed = Self::framed(&params, &unframed);
        Self { name, params, unframed, framed, image, files: vec![(path, made::BASE)] }
    }

    fn framed(params: &P, unframed: &[u8]) -> Vec<u8> {
        let mut framed = Vec::new();
        let mut framer = Framer::new(Options::default());
        framer.push(Self::frame_id(params), unframed, &mut framed).expect("an ID of a source");
        framer.flush(&mut framed);
        framed
    }

    /// Sources without frames may have the null ID, which no frame can.
    fn frame_id(params: &P) -> TraceId {
        let id = params.id();
        if id.get() == 0 { TraceId::new(0x10).unwrap_or_default() } else { id }
    }

    fn bytes(&self, layer: Layer) -> &[u8] {
        if layer == Layer::Packets { &self.unframed } else { &self.framed }
    }

    fn parser(&self) -> Parser<P> {
        Parser::new(self.params.clone()).with_resync(P::RESYNC)
    }

    /// Feeds the frames `repeat` times. Returns the sink and the decoder.
    fn decode<S: ElementSink>(&self, sink: S, repeat: usize) -> (S, P::Decoder<'_>) {
        let mut feed = Feed::<P, S> { decoder: self.params.decoder(&self.image), sink };
        let mut parser = self.parser();
        let (mut deframer, mut demux) = (Deframer::new(Format::Aligned), Demux::new());
        let id = Self::frame_id(&self.params);
        for _ in 0..repeat {
            deframer.feed(&self.framed, &mut demux);
            for (_, stream) in demux.streams().filter(|(of, _)| *of == id) {
                parser.feed(&stream.bytes, &mut feed);
            }
            demux.clear();
        }
        parser.finish(&mut feed);
        let Feed { mut decoder, mut sink } = feed;
        P::finish(&mut decoder, parser.position(), &mut sink);
        (sink, decoder)
    }

    fn run(&self, layer: Layer, repeat: usize) -> u64 {
        let start = Instant::now();
        match layer {
            Layer::Packets => {
                let mut sink = Count::<P> { counts: [0; 256], values: 0, protocol: PhantomData };
                let mut parser = self.parser();
                (0..repeat).for_each(|_| parser.feed(&self.unframed, &mut sink));
                parser.finish(&mut sink);
                black_box((sink.counts, sink.values));
            }
            Layer::Blocks => {
                black_box(self.decode(ours::Blocks::default(), repeat).0.sum);
            }
            _ => {
                let (counts, mut decoder) = self.decode(Counts::new(), repeat);
                black_box(counts.finish(P::graph(&mut decoder)));
            }
        }
        start.elapsed().as_nanos() as u64
    }

    fn answer(&self, layer: Layer) -> Answer {
        let mut counts = BTreeMap::<String, u64>::new();
        let mut digest = Fnv::START;
        let mut add = |name: &str, count: u64| {
            if count > 0 {
                *counts.entry(name.to_owned()).or_default() += count;
            }
        };
        match layer {
            Layer::Packets => {
                let mut take = |_: u64, _: &[u8], packet: &P::Packet| {
                    let name = P::kind(packet);
                    add(if name == "NOTSYNC" { "I_NOT_SYNC" } else { name }, 1);
                    P::digest(packet, |class, value| {
                        digest.add(&[class]);
                        digest.add(&value.to_le_bytes());
                    });
                };
                let mut parser = self.parser();
                parser.feed(&self.unframed, &mut take);
                parser.finish(&mut take);
                Answer { counts, digest: Some(digest.of_source()) }
            }
            Layer::Blocks => {
                let mut elements = Vec::new();
                let _ = self.decode(|_: u64, element: &Element| elements.push(*element), 1);
                for element in &elements {
                    match element {
                        Element::Block(block) => self.ranges(block, |words, instructions| {
                            add("ranges", 1);
                            add("instructions", instructions);
                            words.iter().for_each(|word| digest.add(&word.to_le_bytes()));
                        }),
                        Element::Exception(exception) => {
                            add("exceptions", 1);
                            digest.add(&u64::from(exception.number).to_le_bytes());
                            let returns = exception.return_address.filter(|_| !P::SINGLE).unwrap_or(0);
                            digest.add(&returns.to_le_bytes());
                        }
                        _ => {}
                    }
                }
                Answer { counts, digest: Some(digest.of_source()) }
            }
            _ => {
                let (counted, mut decoder) = self.decode(Counts::new(), 1);
                let mut sum = 0_u64;
                for ((block, _), count) in &counted.finish(P::graph(&mut decoder)).blocks {
                    self.ranges(block, |words, instructions| {
                        add("ranges", *count);
                        add("instructions", instructions * count);
                        let mut fnv = Fnv::START;
                        words.iter().for_each(|word| fnv.add(&word.to_le_bytes()));
                        sum = sum.wrapping_add(fnv.0.wrapping_mul(*count));
                    });
                }
                Answer { counts, digest: Some(sum) }
            }
        }
    }

    /// Passes a block's ranges as OpenCSD has them, and their instructions.
    fn ranges(&self, block: &Block, mut take: impl FnMut([u64; 3], u64)) {
        let is_executed = u64::from(block.ended != Ended::NotTaken);
        if !P::SINGLE {
            let count = u64::from(block.count);
            return take([block.start, block.end, count << 1 | is_executed], count);
        }
        let space = MemorySpace::ANY;
        for (index, instruction) in (1..=block.count).zip(Instructions::new(&self.image, space, block)) {
            let end = instruction.address.wrapping_add(instruction.len.into());
            let is_executed = if index == block.count { is_executed } else { 1 };
            take([instruction.address, end, 2 | is_executed], 1);
        }
    }

    /// Measures a layer, or only checks its answer.
    fn measure(&self, layer: Layer, opencsd: Option<&OpenCsd>, check: bool) -> Result<String, String> {
        let bytes = self.bytes(layer);
        let [etmcr, etmidr, etmccer] = self.params.registers();
        let id = Self::frame_id(&self.params).get();
        let spec = format!("{id:x},{},{etmcr:x},{etmidr:x},{etmccer:x}", P::NAME);
        let theirs =
            |repeat, digest| opencsd.map(|of| of.read(layer, bytes, &[&spec], &self.files, repeat, digest));
        if let Some(theirs) = theirs(1, true) {
            theirs?.1.check(&self.answer(layer), "OpenCSD against tracewright")?;
        }
        if check {
            return Ok(format!("{}, {}: answers agree", self.name, layer.name()));
        }
        let (rounds, round_bytes) = match layer {
            Layer::Packets => (ROUNDS, ROUND_BYTES),
            _ => (SLOW_ROUNDS, SLOW_ROUND_BYTES),
        };
        let repeat = (round_bytes / bytes.len()).max(1);
        row(&self.name, layer, bytes, rounds, repeat, || theirs(repeat, false), || self.run(layer, repeat))
    }
}

fn made_name(protocol: &str, cycles: bool) -> String {
    format!("{protocol}, encoder-made{}", if cycles { ", cycles" } else { "" })
}

pub fn tables(check: bool) -> Result<usize, String> {
    let opencsd = OpenCsd::build();
    if let Err(why) = &opencsd {
        eprintln!("skipped: OpenCSD: {why}");
    }
    let opencsd = opencsd.ok();
    if !check {
        head(2, "input | layer | memcpy MB/s | OpenCSD MB/s | tracewright MB/s | of memcpy | x OpenCSD");
    }
    let mut entries = 0;
    let len = if check { 1 << 14 } else { MADE };
    let ptm = [false, true].map(|cycles| Traced::<ptm::Params>::made(made_name("PTM", cycles), cycles, len));
    let etm3 =
        [false, true].map(|cycles| Traced::<etm3::Params>::made(made_name("ETMv3", cycles), cycles, len));
    for layer in LAYERS {
        let lines = ptm.iter().map(|traced| traced.measure(layer, opencsd.as_ref(), check));
        for line in lines.chain(etm3.iter().map(|traced| traced.measure(layer, opencsd.as_ref(), check))) {
            println!("{}", line?);
            entries += 1;
        }
    }
    let Some(captures) = captures() else {
        skip("benchmarks of PTM and ETMv3", "no shared captures");
        return Ok(entries);
    };
    // Nearly all code of Snowball is in no image, and our blocks end at waits (WFI), where OpenCSD's ranges go on.
    for (name, layers) in [("tc2-ptm-rstk-t32", &LAYERS[..]), ("TC2", &LAYERS), ("Snowball", &LAYERS[..1])] {
        let capture = Capture::open(&captures.join("coresight").join(name)).expect("a snapshot");
        let ptm = Traced::<ptm::Params>::open(&format!("PTM, {name}"), &capture);
        let etm3 = Traced::<etm3::Params>::open(&format!("ETMv3, {name}"), &capture);
        for &layer in layers {
            let of_ptm = ptm.as_ref().map(|traced| traced.measure(layer, opencsd.as_ref(), check));
            let of_etm3 = etm3.as_ref().map(|traced| traced.measure(layer, opencsd.as_ref(), check));
            for line in of_ptm.into_iter().chain(of_etm3) {
                println!("{}", line.map_err(|wrong| format!("{name}, {}: {wrong}", layer.name()))?);
                entries += 1;
            }
        }
    }
    Ok(entries)
}
