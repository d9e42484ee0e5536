//! ITM packets beside the `itm` crate, on streams of our encoder. (Debian's OpenCSD knows no ITM.)
//!
//! Both must find as many packets of each kind, and the same sum of their values.

use std::hint::black_box;
use std::time::{Duration, Instant};

use itm::{DecoderOptions, TracePacket};
use tracewright_core::{Delay, Element, ExceptionChange, Message, Sample, Watched, Write};
use tracewright_coresight::itm::Params;
use tracewright_coresight::itm::encode::{Encoder, Options};
use tracewright_coresight::itm::packet::{Packet, Parser};
use tracewright_testkit::Rng;

use crate::hart::{number, time};
use crate::head;

/// The word that picks it.
pub const NAME: &str = "itm";
/// Rounds; the best of each engine counts.
const ROUNDS: usize = 7;
/// Bytes of a stream.
const BYTES: usize = 4 << 20;

/// Packets and what they say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Answer {
    writes: u64,
    hardware: u64,
    times: u64,
    others: u64,
    /// Sum of the values of all.
    sum: u64,
}

impl Answer {
    fn write(&mut self, value: u64) {
        self.writes += 1;
        self.sum = self.sum.wrapping_add(value);
    }

    fn hardware(&mut self, value: u64) {
        self.hardware += 1;
        self.sum = self.sum.wrapping_add(value);
    }

    fn time(&mut self, value: u64) {
        self.times += 1;
        self.sum = self.sum.wrapping_add(value);
    }
}

pub fn tables(check: bool) -> Result<usize, String> {
    let inputs = [("text with times", text as fn(&mut Rng) -> Element), ("DWT", dwt)];
    if !check {
        head(1, "ITM packets of | MB | `itm` crate MB/s | tracewright MB/s | x the crate");
    }
    for (name, element) in inputs {
        let bytes = stream(element, if check { BYTES >> 6 } else { BYTES });
        let row = measure(name, &bytes, if check { 1 } else { ROUNDS })?;
        // One pass is no measurement.
        if check {
            println!("{NAME}, {name}: answers agree");
        } else {
            println!("{row}");
        }
    }
    Ok(inputs.len())
}

fn stream(element: fn(&mut Rng) -> Element, len: usize) -> Vec<u8> {
    let mut rng = Rng::new(1);
    let mut encoder = Encoder::new(&Params::default(), Options::default());
    let mut bytes = Vec::with_capacity(len + 64);
    while bytes.len() < len {
        let delay = Delay { timestamp: false, packet: false };
        let time = Element::LocalTime { cycles: 1 + rng.below(2000), delay };
        for element in [element(&mut rng), time] {
            encoder.element(&element, &mut bytes);
        }
    }
    bytes
}

fn text(rng: &mut Rng) -> Element {
    let (bits, value) = *rng.pick(&[(8, 0x41), (8, 0x20), (32, 0x6c6c_6548)]);
    Element::Message(Message::Write(Write { channel: rng.below(2) as u32, bits, value, ..Write::default() }))
}

fn dwt(rng: &mut Rng) -> Element {
    let value = rng.next_u64() as u32;
    let comparator = rng.below(4) as u8;
    let change = *rng.pick(&[ExceptionChange::Entered, ExceptionChange::Left, ExceptionChange::Resumed]);
    Element::Message(match rng.below(4) {
        0 => Message::Exception { number: 16 + rng.below(64) as u16, change },
        1 => Message::Sample(Sample::At(value.into())),
        2 => Message::Watch { comparator, watched: Watched::By(value) },
        _ => Message::Watch { comparator, watched: Watched::Wrote { size: 4, value } },
    })
}

fn measure(name: &str, bytes: &[u8], rounds: usize) -> Result<String, String> {
    let expected = ours(bytes);
    let mut best = [None; 2];
    for _ in 0..rounds {
        let took = [timed(&expected, || theirs(bytes))?, timed(&expected, || ours(bytes))?];
        best.iter_mut().zip(took).for_each(|(best, took)| time(best, took));
    }
    let speed = |best: Option<Duration>| best.map(|best| bytes.len() as f64 / best.as_secs_f64() / 1e6);
    let ratio = speed(best[1]).zip(speed(best[0])).map(|(ours, theirs)| ours / theirs);
    let columns = [
        number(Some(bytes.len() as f64 / 1e6), 1),
        number(speed(best[0]), 1),
        number(speed(best[1]), 0),
        number(ratio, 0),
    ];
    Ok(format!("| {name} | {} |", columns.join(" | ")))
}

fn timed(expected: &Answer, work: impl FnOnce() -> Answer) -> Result<Duration, String> {
    let start = Instant::now();
    let answer = black_box(work());
    let took = start.elapsed();
    if answer == *expected { Ok(took) } else { Err(format!("{NAME}: {answer:?}, expected {expected:?}")) }
}

fn ours(bytes: &[u8]) -> Answer {
    let mut answer = Answer::default();
    let mut parser = Parser::new(Params::default());
    let mut sink = |_: u64, _: &[u8], packet: &Packet| match *packet {
        Packet::Stimulus { value, .. } => answer.write(value.into()),
        Packet::Hardware(hardware) => answer.hardware(hardware.value.into()),
        Packet::LocalTimestamp { value, .. } => answer.time(value.into()),
        _ => answer.others += 1,
    };
    parser.feed(bytes, &mut sink);
    parser.finish(&mut sink);
    answer
}

fn theirs(bytes: &[u8]) -> Answer {
    let mut answer = Answer::default();
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    for packet in itm::Decoder::new(bytes, DecoderOptions { ignore_eof: false }).singles() {
        match packet {
            Ok(TracePacket::Instrumentation { payload, .. }) => answer.write(number(&payload)),
            Ok(TracePacket::ExceptionTrace { exception, action }) => {
                let itm::cortex_m::VectActive::Interrupt { irqn } = exception else { continue };
                let action = match action {
                    itm::ExceptionAction::Entered => 1,
                    itm::ExceptionAction::Exited => 2,
                    itm::ExceptionAction::Returned => 3,
                };
                answer.hardware(u64::from(irqn + 16) | action << 12);
            }
            Ok(TracePacket::PCSample { pc: Some(pc) }) => answer.hardware(pc.into()),
            Ok(TracePacket::DataTracePC { pc, .. }) => answer.hardware(pc.into()),
            Ok(TracePacket::DataTraceValue { value, .. }) => answer.hardware(number(&value)),
            Ok(TracePacket::LocalTimestamp1 { ts, .. }) => answer.time(ts.into()),
            Ok(TracePacket::LocalTimestamp2 { ts }) => answer.time(ts.into()),
            _ => answer.others += 1,
        }
    }
    answer
}
