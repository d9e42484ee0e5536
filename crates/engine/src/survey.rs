//! Finds out what a raw trace file may be: how it is packed, and whose bytes are in it.
//!
//! The file is read once, in every packing at the same time. In each, the bytes of every trace ID are searched for the patterns with which
//! protocols synchronise. A packing fits if most of its bytes are of sources that are recognised so.

use std::cmp::Reverse;
use std::io::{self, Read};

use tracewright_core::TraceId;
use tracewright_etrace::Params;
use tracewright_etrace::packet::Packet;
use tracewright_etrace::stream::{Config, Content, EtraceSink, Message, Parser};
use tracewright_frames::{Deframer, DstreamBlocks, FrameSink, Lost, LostReason, Run};
use tracewright_input::{Packing, RawSource};

use crate::incoming::format;

/// What a raw trace file may be.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Bytes of the file.
    pub bytes: u64,
    /// Ways to read it, the likeliest first; none if nothing is recognised.
    pub fits: Vec<Fit>,
}

/// A way to read a raw trace file.
#[derive(Clone, Debug)]
pub struct Fit {
    /// How the file is packed.
    pub packing: Packing,
    /// Bytes before the first frame: frames need not begin where the file does.
    pub skip: u64,
    /// Sources that were found, by trace ID.
    pub sources: Vec<FoundSource>,
    /// Bytes that belong to no source: lost, or before the first synchronisation of frames.
    pub lost: u64,
}

/// A source in a raw trace file.
#[derive(Clone, Debug)]
pub struct FoundSource {
    /// Trace ID; `None` in a file without frames.
    pub id: Option<TraceId>,
    /// Number of its bytes.
    pub bytes: u64,
    /// What its bytes look like.
    pub looks: Looks,
    /// Synchronisation patterns in the bytes that were searched.
    pub syncs: u64,
}

/// What the bytes of a source look like.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

impl FoundSource {
    /// Returns the source in the words of `--source`, if tracewright reads its protocol.
    pub fn description(&self) -> Option<String> {
        let id = self.id.map_or_else(String::new, |id| format!(",id={:#04x}", id.get()));
        match &self.looks {
            Looks::Etm { counts_cycles } => {
                // TRCCONFIGR.CCI, and bit 0, which is always set.
                let config = if *counts_cycles { ",TRCCONFIGR=0x11" } else { "" };
                Some(format!("etm4{id}{config}"))
            }
            Looks::Etrace(description) => Some(description.clone()),
            _ => None,
        }
    }
}

impl Fit {
    /// Returns the options with which the command reads the file so; `None` if it can read none of its sources.
    pub fn options(&self) -> Option<String> {
        let sources: Vec<_> = self.sources.iter().filter_map(FoundSource::description).collect();
        let is_etrace = self.sources.iter().any(|source| matches!(source.looks, Looks::Etrace(_)));
        let packing = if is_etrace { String::new() } else { format!("--packing {} ", self.packing.name()) };
        (!sources.is_empty()).then(|| format!("{packing}--source {}", sources.join(" --source ")))
    }

    /// Returns how much speaks for it: long patterns count more than short ones, which other bytes may have by chance.
    fn strength(&self) -> u64 {
        let of = |source: &FoundSource| match source.looks {
            Looks::Etm { .. } | Looks::Stm | Looks::Etrace(_) => 8 * source.syncs,
            _ => source.syncs,
        };
        self.sources.iter().map(of).sum()
    }

    /// Returns whether the bytes are frames of a few sources, although none is recognised.
    fn is_framed(&self, bytes: u64) -> bool {
        let all: u64 = self.sources.iter().map(|source| source.bytes).sum();
        self.packing.is_framed()
            && all >= LEAST_FRAMED
            && self.lost <= bytes / 100
            && self.sources.len() <= MOST_SOURCES
            && self.sources.iter().all(|source| source.bytes >= all / 100)
    }

    /// Returns whether most bytes are of sources that are recognised.
    fn is_likely(&self, bytes: u64) -> bool {
        let all: u64 = self.sources.iter().map(|source| source.bytes).sum();
        let is_known = |source: &&FoundSource| source.looks != Looks::Unknown;
        let known: u64 = self.sources.iter().filter(is_known).map(|source| source.bytes).sum();
        known > 0 && known >= all / 2 && self.lost <= bytes / 4
    }
}

/// Fewest bytes, and most sources, of frames in which no protocol is recognised.
const LEAST_FRAMED: u64 = 256;
const MOST_SOURCES: usize = 8;
/// Bytes read at once.
const CHUNK: usize = 1 << 20;
/// Bytes of a source that are searched for patterns.
const SEARCHED: u64 = 4 << 20;
/// Bytes in which messages of E-Trace are looked for.
const START: usize = 1 << 18;
/// Encapsulations of E-Trace that are tried. Messages of several harts cannot be told without knowing more of them.
const ENCAPSULATIONS: [&str; 4] = [
    "standard,source_bits=0,timestamp_bytes=0,type_bits=0",
    "standard,source_bits=0,timestamp_bytes=0,type_bits=1",
    "smi",
    "pulp",
];
/// Encoders that are tried in each encapsulation: one with nothing optional, that of `record`, and those of the reference flow and of its C
/// codec.
const ENCODERS: [&str; 9] = [
    "",
    ",nocontext=false,ecause_width=6,bpred_size=7,cache_size=7,call_counter_size=4,return_stack_size=5,sijump_p=true,iret_ext=true,\
     support=standard",
    ",nocontext=false",
    ",nocontext=false,call_counter_size=7",
    ",nocontext=false,iaddress_lsb=0,call_counter_size=9",
    ",nocontext=false,notime=false,time_width=1,return_stack_size=7,sijump_p=true",
    ",nocontext=false,call_counter_size=7,f0s_width=0,bpred_size=7",
    ",nocontext=false,call_counter_size=7,f0s_width=0,cache_size=7",
    ",nocontext=false,call_counter_size=7,f0s_width=1,bpred_size=7,cache_size=7",
];
/// Bytes of a frame: frames may begin at so many places.
const FRAME: u64 = 16;

/// Reads a raw trace file and finds out what it may be.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn survey(mut input: impl Read) -> io::Result<Survey> {
    let mut views: Vec<_> = Packing::ALL.into_iter().map(View::new).collect();
    let mut shifted: Vec<_> = (1..FRAME).map(View::shifted).collect();
    let (mut chunk, mut start, mut bytes) = (vec![0; CHUNK], Vec::new(), 0);
    loop {
        let len = match input.read(&mut chunk) {
            Ok(0) => break,
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        bytes += len as u64;
        start.extend_from_slice(&chunk[..len.min(START - start.len())]);
        views.iter_mut().chain(&mut shifted).for_each(|view| view.feed(&chunk[..len]));
        // Few of a large file's bytes tell where its frames begin.
        if start.len() == START && shifted.len() > 1 {
            shifted.sort_by_key(|view| Reverse(view.strength()));
            shifted.truncate(1);
        }
    }
    views.extend(shifted);
    // Somewhere in any file there is something like a frame: only what is certain tells that frames begin elsewhere.
    let is_certain = |source: &FoundSource| matches!(source.looks, Looks::Etm { .. });
    let views = views.into_iter().map(View::finish);
    let views = views.filter(|fit| fit.skip == 0 || fit.sources.iter().any(is_certain));
    let (mut fits, others): (Vec<_>, Vec<_>) = views.partition(|fit| fit.is_likely(bytes));
    // A pattern inside a frame looks the same without frames, so frames count more where both have as many.
    fits.sort_by_key(|fit| (Reverse(fit.strength()), fit.lost, fit.packing == Packing::Source));
    let most = fits.first().map_or(0, Fit::strength);
    fits.retain(|fit| 10 * fit.strength() >= 9 * most);
    // Frames without half syncs are the same with and without looking for them.
    fits.dedup_by_key(|fit| (fit.packing.is_framed(), fit.skip, fit.strength(), fit.lost));
    let may_be_etrace =
        |source: &FoundSource| matches!(source.looks, Looks::Older | Looks::Unknown | Looks::Etrace(_));
    if fits.iter().all(|fit| fit.sources.iter().all(may_be_etrace))
        && let Some(etrace) = etrace(&start, bytes)
    {
        fits.retain(|fit| !fit.sources.iter().any(|source| matches!(source.looks, Looks::Etrace(_))));
        fits.insert(0, etrace);
    }
    if fits.is_empty() {
        let is_framed = |fit: &Fit| fit.skip == 0 && fit.is_framed(bytes);
        fits.extend(others.into_iter().filter(is_framed).take(1));
    }
    Ok(Survey { bytes, fits })
}

/// Returns the description of an E-Trace source with which messages at the start of a file make most sense, if they do with any.
fn etrace(start: &[u8], bytes: u64) -> Option<Fit> {
    let mut best: Option<(u64, u64, String)> = None;
    for (encapsulation, encoder) in ENCAPSULATIONS.iter().flat_map(|of| ENCODERS.map(|encoder| (of, encoder)))
    {
        for isa in ["rv64", "rv32"] {
            let description = format!("etrace,isa={isa},encapsulation={encapsulation}{encoder}");
            let Ok(RawSource::Etrace(source)) = description.parse() else { continue };
            let messages = Messages::of(source.config, start);
            if messages.make_sense() && best.as_ref().is_none_or(|best| messages.doubts() < best.0) {
                best = Some((messages.doubts(), messages.syncs, description));
            }
        }
    }
    let (_, syncs, description) = best?;
    let found = FoundSource { id: None, bytes, looks: Looks::Etrace(description), syncs };
    Some(Fit { packing: Packing::Source, skip: 0, sources: vec![found], lost: 0 })
}

/// Messages of E-Trace, read as a description says, and what speaks against it.
#[derive(Debug, Default)]
struct Messages {
    /// The encoder, as described.
    params: Params,
    all: u64,
    malformed: u64,
    skipped: u64,
    syncs: u64,
    /// Addresses in synchronisation packets that no processor has, and causes of traps that no processor tells.
    odd: u64,
    /// Other addresses that no processor has; options that the encoder reports and cannot have; flow indicators, which few encoders set: in
    /// another encapsulation these bits are a type.
    unusual: u64,
}

/// Bits of an address that programs use, without the sign.
const ADDRESS_BITS: u32 = 47;
/// Causes of traps from here on are for custom use, or reserved.
const CAUSES: u64 = 24;
/// Machine mode.
const MACHINE: u8 = 3;

impl Messages {
    fn of(config: Config, start: &[u8]) -> Self {
        let mut messages = Self { params: config.params.clone(), ..Self::default() };
        // The end of `start` may cut a message.
        Parser::new(config).feed(start, &mut messages);
        messages
    }

    /// Returns whether the description may be right. Encoders with other parameters write some payloads that make no sense with these.
    fn make_sense(&self) -> bool {
        self.syncs > 0 && self.skipped == 0 && self.malformed <= self.all / 20 && self.odd <= self.syncs / 2
    }

    /// Returns how much speaks against it.
    fn doubts(&self) -> u64 {
        self.malformed + self.odd + self.unusual
    }

    fn sync(&mut self, address: u64, privilege: u8, is_odd: bool) {
        self.syncs += 1;
        // Kernels have the highest addresses of 64 bits; in machine mode they are addresses of 32 bits.
        self.unusual += u64::from(privilege == MACHINE && address >> 31 == u64::MAX >> 31);
        let sign = (address as i64) >> ADDRESS_BITS;
        // The low half is 0 where an unknown context is, which mostly is 0.
        let is_odd = is_odd || address as u32 == 0 || address & 1 == 1 || (sign != 0 && sign != -1);
        self.odd += u64::from(is_odd);
    }
}

impl EtraceSink for Messages {
    fn message(&mut self, _: u64, _: &[u8], message: &Message) {
        self.all += 1;
        self.unusual += u64::from(message.flow != 0);
        match message.content {
            Content::Malformed(_) | Content::Other { .. } => self.malformed += 1,
            Content::Instruction(Packet::Address(address) | Packet::Branches(_, Some(address))) => {
                self.unusual += address.value & 1;
            }
            Content::NotSync { .. } => self.skipped += 1,
            Content::Instruction(Packet::Support(support)) => {
                let (options, params) = (support.ioptions, &self.params);
                let is_beyond = options.branch_prediction && params.bpred_size == 0
                    || options.jump_target_cache && params.cache_size == 0
                    || options.implicit_return && params.returns_bits() == 0;
                self.unusual += u64::from(is_beyond);
            }
            Content::Instruction(Packet::Start(start)) => {
                self.sync(start.address, start.context.privilege, false);
            }
            Content::Instruction(Packet::Trap(trap)) => {
                if let Some(address) = trap.address {
                    self.sync(address, trap.context.privilege, trap.ecause >= CAUSES);
                }
            }
            _ => {}
        }
    }
}

/// A file in one packing.
struct View {
    packing: Packing,
    skip: u64,
    /// Bytes still to be passed over.
    before: u64,
    deframer: Option<Deframer>,
    blocks: DstreamBlocks,
    streams: Streams,
}

/// The bytes of each trace ID.
struct Streams {
    by_id: Vec<Patterns>,
    lost: u64,
}

impl View {
    fn new(packing: Packing) -> Self {
        let streams = Streams { by_id: vec![Patterns::default(); 0x80], lost: 0 };
        let deframer = format(packing).map(Deframer::new);
        Self { packing, skip: 0, before: 0, deframer, blocks: DstreamBlocks::new(), streams }
    }

    /// Creates a view of frames that begin after `skip` bytes.
    fn shifted(skip: u64) -> Self {
        Self { skip, before: skip, ..Self::new(Packing::CoreSight) }
    }

    /// Returns how many patterns it has so far.
    fn strength(&self) -> u64 {
        self.streams.by_id.iter().map(|patterns| patterns.looks().1).sum()
    }

    fn feed(&mut self, bytes: &[u8]) {
        let before = bytes.len().min(usize::try_from(self.before).unwrap_or(usize::MAX));
        self.before -= before as u64;
        let bytes = &bytes[before..];
        match &mut self.deframer {
            None => self.streams.by_id[0].feed(bytes),
            Some(deframer) if self.packing == Packing::DstreamCoreSight => {
                self.blocks.feed(bytes, deframer, &mut self.streams);
            }
            Some(deframer) => deframer.feed(bytes, &mut self.streams),
        }
    }

    fn finish(mut self) -> Fit {
        if let Some(deframer) = &mut self.deframer {
            deframer.finish(&mut self.streams);
        }
        let is_framed = self.deframer.is_some();
        let found = (0..).zip(self.streams.by_id).filter(|(_, patterns)| patterns.bytes > 0);
        let sources = found.map(|(id, patterns)| {
            let (mut looks, mut syncs) = patterns.looks();
            if is_framed && matches!(looks, Looks::Etrace(_)) {
                // E-Trace is not read from frames.
                (looks, syncs) = (Looks::Unknown, 0);
            }
            let id = is_framed.then(|| TraceId::from_low_bits(id));
            FoundSource { id, bytes: patterns.bytes, looks, syncs }
        });
        Fit { packing: self.packing, skip: self.skip, sources: sources.collect(), lost: self.streams.lost }
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
struct Patterns {
    bytes: u64,
    /// Zero bytes, and nibbles of ones, just before.
    zeros: u64,
    ones: u64,
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
/// Nibbles of ones in STM's ASYNC.
const ASYNC: u64 = 21;
const TRACE_INFO: u8 = 1;

impl Patterns {
    fn feed(&mut self, bytes: &[u8]) {
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
        self.zeros = if byte == 0 { self.zeros + 1 } else { 0 };
        for nibble in [byte & 0xf, byte >> 4] {
            self.stm += u64::from(nibble == 0 && self.ones >= ASYNC);
            self.ones = if nibble == 0xf { self.ones + 1 } else { 0 };
        }
    }

    /// Returns what the bytes look like, and the number of patterns that say so.
    fn looks(&self) -> (Looks, u64) {
        let Self { long, etm, counts_cycles, short, aligned, stm, .. } = *self;
        if etm > 0 && etm >= short && etm >= stm {
            (Looks::Etm { counts_cycles }, etm)
        } else if aligned > 0 && aligned >= short {
            (Looks::Etrace(format!("etrace,isa=rv64,encapsulation={}", ENCAPSULATIONS[0])), aligned)
        } else if stm > 0 && stm >= short {
            (Looks::Stm, stm)
        } else if short > 0 {
            (Looks::Older, short)
        } else if long > 0 {
            (Looks::Etm { counts_cycles }, long)
        } else {
            (Looks::Unknown, 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETM: [u8; 15] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 1, 1];

    fn looks(bytes: &[u8]) -> (Looks, u64) {
        let mut patterns = Patterns::default();
        // In pieces of any size.
        bytes.chunks(3).for_each(|piece| patterns.feed(piece));
        patterns.looks()
    }

    #[test]
    fn protocols_are_told_by_their_patterns() {
        assert_eq!(looks(&ETM), (Looks::Etm { counts_cycles: true }, 1));
        assert_eq!(looks(&[ETM, ETM].concat()).1, 2);
        assert_eq!(looks(&[&[7; 9][..], &ETM[..13]].concat()), (Looks::Etm { counts_cycles: false }, 1));
        assert_eq!(looks(&ETM[..12]), (Looks::Etm { counts_cycles: false }, 1));
        assert_eq!(looks(&[0, 0, 0, 0, 0, 0x80, 0x08, 1, 2, 3, 4, 0x21]), (Looks::Older, 1));
        let asynchronous = [&[0xff; 10][..], &[0x0f, 0x0f, 0x30]].concat();
        assert_eq!(looks(&asynchronous), (Looks::Stm, 1));
        let aligned = [&[0; 31][..], &[0x80, 0x05, 0x1f]].concat();
        assert!(matches!(looks(&aligned), (Looks::Etrace(_), 1)));
        assert_eq!(looks(&[1, 2, 3, 0xff, 0x80]), (Looks::Unknown, 0));
    }

    #[test]
    fn options_name_what_can_be_read() {
        let etm =
            |id, counts_cycles| FoundSource { id, bytes: 1, looks: Looks::Etm { counts_cycles }, syncs: 1 };
        let stm = FoundSource { looks: Looks::Stm, ..etm(Some(TraceId::from_low_bits(0x20)), false) };
        let fit =
            |packing, sources: &[FoundSource]| Fit { packing, skip: 0, sources: sources.to_vec(), lost: 0 };
        let ten = etm(Some(TraceId::from_low_bits(0x10)), true);
        assert_eq!(
            fit(Packing::CoreSight, &[ten, stm.clone()]).options().as_deref(),
            Some("--packing coresight --source etm4,id=0x10,TRCCONFIGR=0x11")
        );
        assert_eq!(
            fit(Packing::Source, &[etm(None, false)]).options().as_deref(),
            Some("--packing source --source etm4")
        );
        assert_eq!(fit(Packing::CoreSight, &[stm]).options(), None);
    }

    #[test]
    fn any_bytes_are_taken() {
        assert!(survey(&[][..]).unwrap().fits.is_empty());
        let mut bytes = Vec::new();
        let mut state = 1_u32;
        for _ in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            bytes.push((state >> 24) as u8);
        }
        assert!(survey(&bytes[..]).unwrap().fits.is_empty());
    }
}
