//! Messages of N-Trace: the parameters with which most of them make sense.

use std::collections::BTreeMap;

use tracewright_core::Isa;
use tracewright_frames::{LineEvent, PibDecoder, Pins};
use tracewright_input::{NtraceSource, Packing};
use tracewright_ntrace::packet::{Packet, Value};
use tracewright_ntrace::stream::{Content, Message, Parser};
use tracewright_ntrace::{Dialect, Mode, Params};

use super::{Fit, FoundSource, Speaks};

/// Largest width of SRC that is tried.
const MOST_SRC_BITS: u8 = 12;
/// Fewest messages.
const LEAST: u64 = 3;
/// Bytes that are not of a message weigh as much as this many messages that are unusual.
const MALFORMED: u64 = 8;

/// One in so many messages may be unusual, such as a trap.
const RARE: u64 = 500;
/// Fewest messages that tell which bits of them are the same in all.
const MANY: u64 = 32;

/// Returns the description of an N-Trace source with which messages at the start of a file make most sense, if they do with any: one for
/// each source that synchronises.
pub fn ntrace(start: &[u8], bytes: u64) -> Option<Fit> {
    let (messages, params) = guess(start)?;
    let covered: u64 = messages.sources.values().map(|of| of.bytes).sum();
    let found = messages.found().map(|(id, of)| {
        let id = if id == 0 { String::new() } else { format!(",id={id}") };
        let share = u128::from(bytes) * u128::from(of.bytes) / u128::from(covered.max(1));
        let description = format!("ntrace,isa=rv64{}{id}", described(&params));
        let speaks = Some(Speaks { name: "N-Trace", source: Some(description), evidence: None });
        FoundSource { id: None, bytes: share as u64, syncs: of.syncs, speaks }
    });
    let sources = found.collect();
    Some(Fit { packing: Packing::Source, skip: 0, samples_per_bit: None, sources, lost: 0 })
}

/// Returns the same for the bytes of one trace ID in frames: they are of one source.
pub fn framed(sample: &[u8]) -> Option<(Speaks, u64)> {
    let (messages, params) = guess(sample).filter(|(messages, _)| messages.all >= MANY)?;
    let (&src, of) = messages.sources.iter().max_by_key(|(_, of)| of.all)?;
    let src = if src == 0 { String::new() } else { format!(",src={src}") };
    let source = Some(format!("ntrace,isa=rv64{}{src}", described(&params)));
    Some((Speaks { name: "N-Trace", source, evidence: None }, of.syncs))
}

/// Returns the parameters that are not the usual ones, as `--source` takes them.
fn described(params: &Params) -> String {
    let usual = Params::default();
    let others = Params::fields().iter().filter(|field| {
        field.value(params).to_string() != field.value(&usual).to_string() || field.name == "mode"
    });
    others.map(|field| format!(",{}={}", field.name, field.value(params))).collect()
}

/// Returns how pins of a trace port were sampled, if messages make sense then and so.
pub fn pins(start: &[u8], bytes: u64) -> Option<Fit> {
    // Those of more pins can be read as one by one.
    let samples = [(Packing::Pib4, Pins::Four), (Packing::Pib2, Pins::Two), (Packing::Pib1, Pins::One)];
    samples.into_iter().find_map(|(packing, pins)| {
        let (mut sent, mut lost) = (Vec::new(), 0);
        PibDecoder::new(pins).feed(start, &mut |event| match event {
            LineEvent::Byte { byte, .. } => sent.push(byte),
            LineEvent::Lost(found) => lost += found.len,
        });
        let fit = ntrace(&sent, bytes).filter(|_| lost < start.len() as u64 / 10)?;
        Some(Fit { packing, lost, ..fit })
    })
}

/// Returns what the bytes at the start of a stream say of its source, as far as they do: the width of SRC, the mode and the dialect.
pub fn likely_ntrace(start: &[u8]) -> Option<NtraceSource> {
    let (messages, params) = guess(start)?;
    let id = messages.sources.iter().max_by_key(|(_, of)| of.all).map_or(0, |(&id, _)| id);
    Some(NtraceSource { params, isa: Isa::Rv64, id, src: None, sram: None })
}

fn guess(start: &[u8]) -> Option<(Messages, Params)> {
    let dialects = [Dialect::Standard, Dialect::Sifive];
    let tried = dialects.into_iter().flat_map(|dialect| (0..=MOST_SRC_BITS).map(move |bits| (dialect, bits)));
    let read = tried.map(|(dialect, src_bits)| {
        let params = Params { src_bits, dialect, ..Params::default() };
        let mut messages = Messages::default();
        // The end of `start` may cut a message.
        Parser::new(params.clone()).feed(start, &mut |_: u64, bytes: &[u8], message: &Message| {
            messages.take(bytes, message);
        });
        (messages, params)
    });
    let mut read: Vec<_> = read.filter(|(messages, _)| messages.make_sense(start.len())).collect();
    read.sort_by_key(|(messages, params)| (messages.doubts(), params.src_bits));
    let (best, of_best) = read.first()?;
    // Zeros at the top of SRC look like those at the bottom of the counts behind it, where every count would be a multiple of four. So of
    // the widths that find the same sources the largest is right, or the one before it if counts of the true one are all even.
    let is_same = |(messages, params): &(Messages, Params)| {
        best.all >= MANY
            && params.dialect == of_best.dialect
            && params.src_bits >= of_best.src_bits
            && messages.sources.len() == best.sources.len()
            && messages.doubts() <= best.doubts() + best.all / RARE
    };
    let widest =
        read.iter().enumerate().filter(|(_, one)| is_same(one)).max_by_key(|(_, one)| one.1.src_bits);
    let at = widest.map_or(0, |(at, _)| at);
    let (messages, params) = read.swap_remove(at);
    let bits = params.src_bits.saturating_sub(u8::from(at > 0 && !messages.has_odd_address));
    let (messages, params) = match bits == params.src_bits {
        true => (messages, params),
        false => {
            read.into_iter().find(|(_, other)| other.src_bits == bits && other.dialect == params.dialect)?
        }
    };
    let mode = if messages.direct > messages.histories { Mode::Branch } else { Mode::History };
    Some((messages, Params { mode, ..params }))
}

/// Messages, read with some parameters, and what speaks against these.
#[derive(Debug, Default)]
struct Messages {
    all: u64,
    /// Bytes of messages.
    covered: usize,
    malformed: u64,
    /// Reserved messages and codes, and traps, which are rare.
    unusual: u64,
    /// Messages that only the mode branch has, and only the mode history.
    direct: u64,
    histories: u64,
    /// Whether an address is no multiple of four: the program has compressed instructions.
    has_odd_address: bool,
    sources: BTreeMap<u16, OfSource>,
}

#[derive(Debug, Default)]
struct OfSource {
    all: u64,
    syncs: u64,
    bytes: u64,
}

impl Messages {
    fn take(&mut self, bytes: &[u8], message: &Message) {
        self.covered += bytes.len();
        let packet = match message.content {
            Content::Packet(packet) => packet,
            Content::Idle { len } => {
                self.covered += len as usize;
                return;
            }
            Content::Other { .. } => {
                self.all += 1;
                self.unusual += 1;
                return;
            }
            Content::Malformed(_) | Content::NotSync { .. } | Content::Incomplete => {
                self.malformed += 1;
                return;
            }
        };
        self.all += 1;
        let of = self.sources.entry(message.source).or_default();
        of.all += 1;
        of.bytes += bytes.len() as u64;
        of.syncs += u64::from(packet.sync().is_some());
        packet.fields(|name, value| {
            // An address is sent without its lowest bit.
            if let ("uaddr" | "faddr", Value::Number(address)) = (name, value) {
                self.has_odd_address |= address & 1 == 1;
            }
        });
        let is_unusual = match packet {
            Packet::ResourceFull { rcode, .. } => rcode > 2,
            Packet::ProgTraceCorrelation { evcode, cdf, .. } => !matches!(evcode, 0 | 1 | 4) || cdf > 1,
            Packet::Error { etype, .. } => etype != 0,
            Packet::IndirectBranch { btype, .. } | Packet::IndirectBranchHist { btype, .. } => btype > 0,
            _ => packet.sync().is_some_and(|sync| sync == 8 || sync > 9),
        };
        self.unusual += u64::from(is_unusual);
        match packet {
            Packet::DirectBranch { .. } | Packet::DirectBranchSync { .. } | Packet::RepeatBranch { .. } => {
                self.direct += 1;
            }
            _ if packet.history().is_some() => self.histories += 1,
            _ => {}
        }
    }

    /// Returns whether the parameters may be right. A buffer may begin within a message.
    fn make_sense(&self, bytes: usize) -> bool {
        self.all >= LEAST
            && self.covered >= bytes / 4 * 3
            && self.malformed <= 1 + self.all / 50
            && self.unusual <= self.all / 2
            && self.sources.values().any(|of| of.syncs > 0)
    }

    /// Returns the sources that synchronise and have a share of the messages that is not of chance, by number.
    fn found(&self) -> impl Iterator<Item = (u16, &OfSource)> {
        let is_source = |of: &OfSource| of.syncs > 0 && of.all >= self.all / 100;
        self.sources.iter().filter(move |(_, of)| is_source(of)).map(|(&id, of)| (id, of))
    }

    /// Returns how much speaks against the parameters. Every source synchronises.
    fn doubts(&self) -> u64 {
        let lost = self.sources.values().filter(|of| of.syncs == 0).map(|of| of.all);
        MALFORMED * self.malformed + self.unusual + lost.sum::<u64>()
    }
}
