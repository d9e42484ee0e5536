//! Messages of N-Trace: the parameters with which most of them make sense.

use std::collections::BTreeMap;

use tracewright_core::Isa;
use tracewright_frames::{LineEvent, PibDecoder, Pins};
use tracewright_input::{NtraceSource, Packing, SourceParams as _};
use tracewright_ntrace::packet::Packet;
use tracewright_ntrace::stream::{Content, Message, Parser};
use tracewright_ntrace::{Dialect, Mode, Params};

use super::Fit;

/// Largest width of SRC that is tried.
const MOST_SRC_BITS: u8 = 12;
/// Fewest messages.
const LEAST: u64 = 3;
/// Bytes that are not of a message weigh as much as this many messages that are unusual.
const MALFORMED: u64 = 8;

/// Returns the description of an N-Trace source with which messages at the start of a file make most sense, if they do with any.
pub fn ntrace(start: &[u8], bytes: u64) -> Option<Fit> {
    let (source, syncs) = guess(start)?;
    let usual = Params::default();
    let others = Params::fields().iter().filter(|field| {
        field.value(&source.params).to_string() != field.value(&usual).to_string() || field.name == "mode"
    });
    let others: String =
        others.map(|field| format!(",{}={}", field.name, field.value(&source.params))).collect();
    let id = if source.id() == 0 { String::new() } else { format!(",id={}", source.id()) };
    Some(Fit::unframed("N-Trace", format!("ntrace,isa=rv64{others}{id}"), syncs, bytes))
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
    guess(start).map(|(source, _)| source)
}

fn guess(start: &[u8]) -> Option<(NtraceSource, u64)> {
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
    let read = read.filter(|(messages, _)| messages.make_sense(start.len()));
    let (messages, params) = read.min_by_key(|(messages, _)| messages.doubts())?;
    let mode = if messages.direct > messages.histories { Mode::Branch } else { Mode::History };
    let id = messages.sources.iter().max_by_key(|(_, of)| of.all).map_or(0, |(&id, _)| id);
    let source =
        NtraceSource { params: Params { mode, ..params }, isa: Isa::Rv64, id, src: None, sram: None };
    Some((source, messages.sources.values().map(|of| of.syncs).sum()))
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
    sources: BTreeMap<u16, OfSource>,
}

#[derive(Debug, Default)]
struct OfSource {
    all: u64,
    syncs: u64,
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
        of.syncs += u64::from(packet.sync().is_some());
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

    /// Returns how much speaks against the parameters. Every source synchronises.
    fn doubts(&self) -> u64 {
        let lost = self.sources.values().filter(|of| of.syncs == 0).map(|of| of.all);
        MALFORMED * self.malformed + self.unusual + lost.sum::<u64>()
    }
}
