//! Packets of STM: our parser beside OpenCSD's packet processor.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use tracewright_core::{Element, Message, TraceId, Write};
use tracewright_coresight::stm::encode::{Encoder, Options};
use tracewright_coresight::stm::packet::{self, Kind, Packet, Parser, Span, opencsd};
use tracewright_frames::{Deframer, Demux, Format};
use tracewright_testkit::Rng;

use crate::Layer;
use crate::answer::{Answer, Fnv};
use crate::head;
use crate::opencsd::OpenCsd;

/// The word on the command line that means this.
pub const NAME: &str = "stm";

const ROUNDS: usize = 7;
/// Bytes that each engine reads in a round.
const ROUND_BYTES: usize = 8 << 20;
/// How OpenCSD's driver is told of the source: its trace ID, and no registers.
const SPEC: &str = "20,stm,0,0,0";
/// Bytes of a chunk for our parser.
const CHUNK: usize = 1 << 16;

/// Bytes that can be repeated: they begin with an ASYNC, and end with a whole packet.
struct Input {
    name: &'static str,
    bytes: Vec<u8>,
}

pub fn tables(check: bool) -> Result<usize, String> {
    let opencsd = OpenCsd::build();
    let mut inputs = vec![made(if check { 2_000 } else { 500_000 })];
    inputs.extend(captured());
    if !check {
        head(2, "packets of STM | bytes | OpenCSD MB/s | tracewright MB/s | x OpenCSD");
    }
    for Input { name, bytes } in &inputs {
        let repeat = if check { 1 } else { ROUND_BYTES.div_ceil(bytes.len()) };
        let answer = ours(bytes);
        let mut rival = u64::MAX;
        if let Ok(opencsd) = &opencsd {
            opencsd
                .read(Layer::Packets, bytes, &[SPEC], &[], 1, true)?
                .1
                .check(&answer, "OpenCSD against tracewright")?;
            for _ in 0..if check { 0 } else { 3 } {
                rival = rival.min(opencsd.read(Layer::Packets, bytes, &[SPEC], &[], repeat, false)?.0);
            }
        }
        if check {
            continue;
        }
        let best = (0..ROUNDS).map(|_| time(bytes, repeat)).min().unwrap_or(1);
        let speed = |ns: u64| (repeat * bytes.len()) as f64 * 1e3 / ns as f64;
        let (theirs, ours) = (speed(rival), speed(best));
        println!("| {name} | {} | {theirs:.0} | {ours:.0} | {:.1} |", bytes.len(), ours / theirs);
    }
    Ok(inputs.len())
}

/// Nanoseconds for counting packets by kind and adding up values.
fn time(bytes: &[u8], repeat: usize) -> u64 {
    let (mut counts, mut sum) = ([0_u64; Kind::COUNT], 0_u64);
    let mut parser = Parser::new();
    let mut sink = |_: Span, _: &[u8], packet: &Packet| {
        counts[packet.kind() as usize] += 1;
        if let Packet::Data { value, .. } = packet {
            sum = sum.wrapping_add(*value);
        }
    };
    let start = Instant::now();
    for _ in 0..repeat {
        bytes.chunks(CHUNK).for_each(|chunk| parser.feed(chunk, &mut sink));
    }
    parser.finish(&mut sink);
    let ns = start.elapsed().as_nanos() as u64;
    assert!(std::hint::black_box(counts).iter().sum::<u64>() > 0 && std::hint::black_box(sum) > 0);
    ns
}

/// Packets by OpenCSD's names, and the digest of their values, as documented in `engines/opencsd.c`.
fn ours(bytes: &[u8]) -> Answer {
    let mut counts = BTreeMap::new();
    let mut fnv = Fnv::START;
    let mut state = packet::State::default();
    let mut sink = |_: Span, _: &[u8], packet: &Packet| {
        *counts.entry(opencsd::name(packet.kind()).to_owned()).or_default() += 1;
        state.apply(packet);
        let value = match *packet {
            Packet::Data { value, marked, .. } => Some((6, value ^ u64::from(marked) << 63)),
            Packet::Trigger { value, .. } | Packet::MasterError(value) | Packet::GlobalError(value) => {
                Some((6, value.into()))
            }
            Packet::Frequency { hertz, .. } => Some((6, hertz.into())),
            Packet::Version(encoding) => Some((6, encoding.version().into())),
            Packet::Master { .. } | Packet::Channel { .. } => {
                Some((7, u64::from(state.master) << 16 | u64::from(state.channel)))
            }
            _ => None,
        };
        let timestamp = packet.timestamp().map(|timestamp| (3, timestamp.value));
        for (class, value) in value.into_iter().chain(timestamp) {
            fnv.add(&[class]);
            fnv.add(&value.to_le_bytes());
        }
    };
    let mut parser = Parser::new();
    parser.feed(bytes, &mut sink);
    parser.finish(&mut sink);
    Answer { counts, digest: Some(fnv.of_source()) }
}

/// Messages of four masters, half of them with a timestamp.
fn made(count: u64) -> Input {
    let mut rng = Rng::new(1);
    let mut encoder = Encoder::new(Options::default());
    let (mut bytes, mut time) = (Vec::new(), 1 << 40);
    let mut write = Write { master: Some(0x40), ..Write::default() };
    for _ in 0..count {
        if rng.below(16) == 0 {
            (write.master, write.channel) = (Some(0x40 + rng.below(4) as u16), rng.below(8) as u32);
        }
        if rng.below(2) == 0 {
            time += rng.below(1000);
            encoder.element(&Element::Timestamp { value: time, cycles: None }, &mut bytes);
        }
        let bits = *rng.pick(&[8, 16, 32, 32, 32, 64]);
        write = Write { bits, value: rng.next_u64() >> (64 - bits), marked: rng.below(8) == 0, ..write };
        encoder.element(&Element::Message(Message::Write(write)), &mut bytes);
    }
    encoder.element(&Element::End, &mut bytes);
    Input { name: "encoder-made, four masters", bytes }
}

/// The STM of a real chip's capture, from its first ASYNC to its last.
fn captured() -> Option<Input> {
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/captures/coresight/stm_only");
    let file = std::fs::read(capture.join("cstraceitm.bin")).ok()?;
    let (mut deframer, mut demux) = (Deframer::new(Format::Aligned), Demux::new());
    deframer.feed(&file, &mut demux);
    deframer.finish(&mut demux);
    let (_, stream) = demux.streams().find(|(id, _)| *id == TraceId::from_low_bits(0x20))?;
    let bytes = &stream.bytes;
    let aligned = |from: usize| {
        let asyncs = std::iter::successors(packet::find(bytes, from), |at| packet::find(bytes, at + 1));
        asyncs.filter(|&at| bytes[at..].starts_with(&[0xff; 10]) && bytes[at + 10] == 0x0f)
    };
    let (first, last) = (aligned(0).next()?, aligned(0).last()?);
    Some(Input { name: "capture stm_only", bytes: bytes[first..last].to_vec() })
}
