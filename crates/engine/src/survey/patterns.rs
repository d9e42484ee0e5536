//! Synchronisation patterns: what the bytes of each trace ID look like, in each packing.

use std::collections::BTreeMap;

use tracewright_core::TraceId;
use tracewright_frames::{FrameSink, Lost, LostReason, Run};
use tracewright_input::Packing;

use super::etrace::ENCAPSULATIONS;
use super::{Fit, FoundSource, Speaks, candidates, ntrace};
use crate::incoming::{Receive, Unpack};

/// Fewest bytes, and most sources, of frames in which no protocol is recognised.
const LEAST_FRAMED: u64 = 256;
const MOST_SOURCES: usize = 8;
/// Bytes of a source that are searched for patterns.
const SEARCHED: u64 = 4 << 20;
/// Bytes of a source that are read as protocols.
const SAMPLE: usize = 1 << 18;

/// What the bytes of a source look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looks {
    /// ETMv4 or ETE: A-Syncs with Trace Info packets behind them. Whether these report cycle counting.
    Etm {
        /// Whether a Trace Info packet says that cycles are counted.
        counts_cycles: bool,
    },
    /// PTM, ETMv3 or ITM, which all synchronise with the same six bytes.
    Older,
    /// STM (STPv2): ASYNC messages.
    Stm,
    /// RISC-V E-Trace: the description of a source whose messages make sense.
    Etrace(String),
    /// No synchronisation pattern.
    Unknown,
}

/// What was seen of a file in one packing.
pub struct Seen {
    pub packing: Packing,
    /// See [`Fit::skip`].
    pub skip: u64,
    /// See [`Fit::samples_per_bit`].
    pub samples_per_bit: Option<f64>,
    pub sources: Vec<SeenSource>,
    pub lost: u64,
}

/// What was seen of a source.
pub struct SeenSource {
    id: Option<TraceId>,
    bytes: u64,
    pub looks: Looks,
    syncs: u64,
}

impl Seen {
    /// Returns how much speaks for it: long patterns count more than short ones, which other bytes may have by chance.
    pub fn strength(&self) -> u64 {
        let of = |source: &SeenSource| match source.looks {
            Looks::Etm { .. } | Looks::Stm | Looks::Etrace(_) => 8 * source.syncs,
            _ => source.syncs,
        };
        self.sources.iter().map(of).sum()
    }

    /// Returns whether there is a pattern that other bytes do not have by chance.
    pub fn is_certain(&self) -> bool {
        self.sources.iter().any(|source| matches!(source.looks, Looks::Etm { .. }))
    }

    /// Returns whether the bytes are frames of a few sources, although none is recognised.
    pub fn is_framed(&self, bytes: u64) -> bool {
        let all: u64 = self.sources.iter().map(|source| source.bytes).sum();
        self.packing.is_framed()
            && all >= LEAST_FRAMED
            && self.lost <= bytes / 100
            && self.sources.len() <= MOST_SOURCES
            && self.sources.iter().all(|source| source.bytes >= all / 100)
    }

    /// Returns whether most bytes are of sources that are recognised.
    pub fn is_likely(&self, bytes: u64) -> bool {
        let (known, all) = self.known();
        known > 0 && known >= all / 2 && self.lost <= bytes / 4
    }

    /// Returns whether the bytes are those of one source, and nearly all are there.
    pub fn is_received(&self, bytes: u64) -> bool {
        !self.packing.is_framed() && self.lost <= bytes / 20
    }

    /// Returns whether nearly all bytes are of sources that are recognised.
    pub fn is_clear(&self, bytes: u64) -> bool {
        let (known, all) = self.known();
        all >= LEAST_FRAMED && known >= all - all / 20 && self.lost <= bytes / 20
    }

    /// Returns how many bytes are of sources that are recognised, and of all sources.
    fn known(&self) -> (u64, u64) {
        let of = |source: &SeenSource| if source.looks == Looks::Unknown { 0 } else { source.bytes };
        (self.sources.iter().map(of).sum(), self.sources.iter().map(|source| source.bytes).sum())
    }

    /// Reads the sources in `start`, the first bytes of the file, as protocols.
    pub fn fit(&self, start: &[u8]) -> Fit {
        let mut view = View::of(self.packing, self.skip, Samples::default());
        view.feed(start);
        view.unpack.finish(&mut view.streams);
        let samples = view.streams.by_id;
        let sources = self.sources.iter().map(|source| {
            let sample = samples.get(&source.id.map_or(0, TraceId::get)).map_or(&[][..], Vec::as_slice);
            let framed = || {
                ntrace::framed(sample).filter(|_| source.looks == Looks::Unknown && self.packing.is_framed())
            };
            let found = source.found(sample);
            match framed().filter(|_| found.speaks.is_none()) {
                Some((speaks, syncs)) => FoundSource { syncs, speaks: Some(speaks), ..found },
                None => found,
            }
        });
        let (sources, samples_per_bit) = (sources.collect(), self.samples_per_bit);
        Fit { packing: self.packing, skip: self.skip, samples_per_bit, sources, lost: self.lost }
    }
}

impl SeenSource {
    fn found(&self, sample: &[u8]) -> FoundSource {
        let Self { id, bytes, syncs, .. } = *self;
        let only = |name, source: Option<&str>| {
            Some(Speaks { name, source: source.map(str::to_owned), evidence: None })
        };
        let speaks = match &self.looks {
            Looks::Unknown => candidates::unmarked(sample),
            Looks::Etrace(source) => only("E-Trace", Some(source)),
            Looks::Etm { counts_cycles } => candidates::best(sample, *counts_cycles).or_else(|| {
                only("ETMv4 or ETE", Some(if *counts_cycles { "etm4,TRCCONFIGR=0x11" } else { "etm4" }))
            }),
            Looks::Stm => candidates::best(sample, false).or_else(|| only("STM", None)),
            Looks::Older => candidates::best(sample, false).or_else(|| only("PTM, ETMv3 or ITM", None)),
        };
        FoundSource { id, bytes, syncs, speaks }
    }
}

/// The first bytes of each trace ID.
#[derive(Default)]
struct Samples {
    by_id: BTreeMap<u8, Vec<u8>>,
}

impl Receive for Samples {
    fn first(&self) -> TraceId {
        TraceId::NULL
    }

    fn unframed(&mut self, bytes: &[u8]) {
        let sample = self.by_id.entry(0).or_default();
        sample.extend_from_slice(&bytes[..bytes.len().min(SAMPLE - sample.len())]);
    }
}

impl FrameSink for Samples {
    fn data(&mut self, run: Run, bytes: &[u8]) {
        let sample = self.by_id.entry(run.id.get()).or_default();
        sample.extend_from_slice(&bytes[..bytes.len().min(SAMPLE - sample.len())]);
    }

    fn lost(&mut self, _: Lost) {}

    fn reset(&mut self, _: u64) {}
}

/// A file in one packing.
pub struct View<S = Streams> {
    packing: Packing,
    skip: u64,
    /// Bytes still to be passed over.
    before: u64,
    unpack: Unpack,
    streams: S,
}

/// The bytes of each trace ID.
pub struct Streams {
    by_id: Vec<Patterns>,
    lost: u64,
}

impl View {
    /// Creates a view that searches for patterns.
    pub fn new(packing: Packing) -> Self {
        let streams = Streams { by_id: vec![Patterns::default(); 0x80], lost: 0 };
        Self::of(packing, 0, streams)
    }

    /// Creates a view of frames that begin after `skip` bytes.
    pub fn shifted(skip: u64) -> Self {
        Self { skip, before: skip, ..Self::new(Packing::CoreSight) }
    }

    /// Returns how many patterns it has so far.
    pub fn strength(&self) -> u64 {
        self.streams.by_id.iter().map(|patterns| patterns.looks().1).sum()
    }

    /// Ends the file.
    pub fn finish(mut self) -> Seen {
        self.unpack.finish(&mut self.streams);
        let is_framed = self.packing.is_framed();
        let found = (0..).zip(self.streams.by_id).filter(|(_, patterns)| patterns.bytes > 0);
        let sources = found.map(|(id, patterns)| {
            let (mut looks, mut syncs) = patterns.looks();
            if self.packing != Packing::Source && matches!(looks, Looks::Etrace(_)) {
                // E-Trace is not read from frames or lines.
                (looks, syncs) = (Looks::Unknown, 0);
            }
            let id = is_framed.then(|| TraceId::from_low_bits(id));
            SeenSource { id, bytes: patterns.bytes, looks, syncs }
        });
        let (sources, samples_per_bit) = (sources.collect(), self.unpack.samples_per_bit());
        Seen { packing: self.packing, skip: self.skip, samples_per_bit, sources, lost: self.streams.lost }
    }
}

impl<S: Receive> View<S> {
    fn of(packing: Packing, skip: u64, streams: S) -> Self {
        Self { packing, skip, before: skip, unpack: Unpack::starting_at(packing, 0), streams }
    }

    /// Takes the next bytes of the file.
    pub fn feed(&mut self, bytes: &[u8]) {
        let before = bytes.len().min(usize::try_from(self.before).unwrap_or(usize::MAX));
        self.before -= before as u64;
        self.unpack.feed(&bytes[before..], &mut self.streams);
    }
}

impl Receive for Streams {
    fn first(&self) -> TraceId {
        TraceId::NULL
    }

    fn unframed(&mut self, bytes: &[u8]) {
        self.by_id[0].feed(bytes);
    }
}

impl FrameSink for Streams {
    fn data(&mut self, run: Run, bytes: &[u8]) {
        self.by_id[usize::from(run.id.get()) & 0x7f].feed(bytes);
    }

    fn lost(&mut self, lost: Lost) {
        // A ring buffer begins in the middle of a frame.
        if lost.reason != LostReason::NoSource {
            self.lost += lost.len;
        }
    }

    fn reset(&mut self, _: u64) {
        for patterns in &mut self.by_id {
            (patterns.zeros, patterns.ones, patterns.after) = (0, 0, After::Nothing);
        }
    }
}

/// Search for the synchronisation patterns of a source.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    bytes: u64,
    /// Zero bytes, and nibbles of ones, just before.
    zeros: u64,
    ones: u64,
    /// How much there is of STM's ASYNC (1) and of the VERSION behind it.
    version: u8,
    /// What the next byte decides, after an A-Sync.
    after: After,
    /// Bytes that were searched.
    seen: u64,
    /// ETMv4's A-Syncs at the very start, those with a Trace Info behind them, and whether one of these says that cycles are counted.
    long: u64,
    etm: u64,
    counts_cycles: bool,
    /// Shorter A-Syncs.
    short: u64,
    /// Alignment sequences of E-Trace's encapsulation.
    aligned: u64,
    stm: u64,
    /// Runs of zeros that end in no A-Sync: memory is full of them, trace of Arm's protocols has next to none.
    stray: u64,
    /// Bytes that are left of an ETMv4 address or context, in which zeros are no stray ones.
    payload: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum After {
    #[default]
    Nothing,
    /// An A-Sync of ETMv4.
    Long,
    /// The same, or an alignment sequence of E-Trace.
    Longest,
    /// The header of a Trace Info packet, and its control byte.
    Info,
    Control,
}

/// Zero bytes before the last byte of an A-Sync: ETMv4's, and those of older protocols.
const LONG: u64 = 11;
const SHORT: u64 = 5;
/// Zero bytes before the last byte of an alignment sequence of E-Trace.
const LONGEST: u64 = 31;
/// Zero bytes of a run that no packet has, but for A-Syncs.
const STRAY: u64 = 6;
/// Most bytes, by far, from one A-Sync of an older protocol to the next.
const SPARSE: u64 = 1 << 16;
/// Nibbles of ones in STM's ASYNC, and of the message before it, at most. Erased flash has more.
const ASYNC: u64 = 21;
const MOST_ONES: u64 = ASYNC + 17;
const TRACE_INFO: u8 = 1;

impl Patterns {
    pub fn feed(&mut self, bytes: &[u8]) {
        let left = SEARCHED.saturating_sub(self.bytes);
        self.bytes += bytes.len() as u64;
        for &byte in bytes.iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
            self.byte(byte);
        }
    }

    fn byte(&mut self, byte: u8) {
        self.after = match (self.after, byte) {
            (After::Longest, 2..) => {
                self.aligned += 1;
                After::Nothing
            }
            (After::Long | After::Longest, TRACE_INFO) => {
                self.etm += 1;
                After::Info
            }
            // The control byte says whether an INFO field follows, whose lowest bit is cycle counting.
            (After::Info, control) if control & 0x81 == 1 => After::Control,
            (After::Control, info) => {
                self.counts_cycles |= info & 1 == 1;
                After::Nothing
            }
            _ => After::Nothing,
        };
        if byte == 0x80 && self.zeros >= SHORT {
            let is_long = self.zeros >= LONG;
            self.after = match self.zeros {
                LONGEST.. => After::Longest,
                LONG.. => After::Long,
                _ => After::Nothing,
            };
            self.short += u64::from(!is_long);
            self.long += u64::from(self.zeros == LONG && self.seen == LONG);
        }
        self.seen += 1;
        self.stray += u64::from(self.zeros >= STRAY && !matches!(byte, 0 | 0x80) && self.payload == 0);
        self.payload = match byte {
            _ if self.payload > 0 => self.payload - 1,
            _ => payload(byte),
        };
        self.zeros = if byte == 0 { self.zeros + 1 } else { 0 };
        for nibble in [byte & 0xf, byte >> 4] {
            // A VERSION message follows: f, 0, 0.
            self.version = match (self.version, nibble) {
                (1, 0xf) => 2,
                (2, 0) => 3,
                (3, 0) => {
                    self.stm += 1;
                    0
                }
                _ => u8::from(nibble == 0 && (ASYNC..=MOST_ONES).contains(&self.ones)),
            };
            self.ones = if nibble == 0xf { self.ones + 1 } else { 0 };
        }
    }

    /// Returns what the bytes look like, and the number of patterns that say so.
    pub fn looks(&self) -> (Looks, u64) {
        let Self { long, etm, counts_cycles, short, aligned, stm, stray, .. } = *self;
        let is_memory = |syncs: u64| stray > 1 + syncs / 4;
        let is_often = |syncs: u64| self.seen / SPARSE <= syncs;
        if etm > 0 && etm >= short && etm >= stm && !is_memory(etm) {
            (Looks::Etm { counts_cycles }, etm)
        } else if aligned > 0 && aligned >= short && is_often(aligned) {
            (Looks::Etrace(format!("etrace,isa=rv64,encapsulation={}", ENCAPSULATIONS[0])), aligned)
        } else if stm > 0 && stm >= short {
            (Looks::Stm, stm)
        } else if short > 0 && !is_memory(short) && is_often(short) {
            (Looks::Older, short)
        } else if long > 0 && !is_memory(long) {
            (Looks::Etm { counts_cycles }, long)
        } else {
            (Looks::Unknown, 0)
        }
    }
}

/// Returns the most bytes behind a header of ETMv4 that may be zeros, the next header included: contexts and addresses of 64 bits.
fn payload(header: u8) -> u8 {
    let (address, context) = (8, 1 + 4 + 4);
    match header {
        0x81 => context + 1,
        0x82 | 0x83 => address / 2 + context + 1,
        0x85 | 0x86 => address + context + 1,
        0x9d | 0x9e => address + 1,
        _ => 0,
    }
}
