//! ETMv4 and ETE as a protocol of the engine. Segments begin at A-Syncs.

mod text;

use tracewright_core::{Exception, MemorySpace};
use tracewright_etm::Params;
use tracewright_etm::decode::{self, Snapshot};
use tracewright_etm::packet::{self, AtomRun, Packet, Parser, Resync};
use tracewright_flow::{ElementSink, Graph};
use tracewright_image::{Image, Moment};
use tracewright_input as input;

use crate::line::Line;
use crate::problem::CannotDecode;
use crate::protocol::{Decoder, Options, Protocol, same_methods};
use crate::sink::Mode;
use crate::stream::Feed;
use crate::syntax::{Kind, PacketSink, Role, Syntax};

/// ETMv4 and ETE.
#[derive(Debug)]
pub struct Etm;

/// State that a cold segment needs: only where the window begins, as a stream position, since a Trace Info restarts all compression.
#[derive(Debug)]
pub struct Knows {
    window: u64,
}

/// All kinds of packets.
const KINDS: [Kind; packet::Kind::COUNT] = {
    let mut kinds = [Kind::new("", Role::Plain); packet::Kind::COUNT];
    let mut index = 0;
    while index < kinds.len() {
        let kind = packet::Kind::ALL[index];
        let role = match kind {
            packet::Kind::Async => Role::Sync,
            packet::Kind::NotSync => Role::Skipped,
            packet::Kind::Incomplete => Role::Incomplete,
            _ if kind.is_error() => Role::Malformed,
            _ => Role::Plain,
        };
        kinds[index] = Kind::new(kind.name(), role);
        index += 1;
    }
    kinds
};

/// A parser's sink that passes packets on.
struct Through<'s, S>(&'s mut S);

impl<S: PacketSink<Etm>> packet::EtmSink for Through<'_, S> {
    #[inline(always)]
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        self.0.packet(offset, bytes, packet);
    }

    fn skipped(&mut self, offset: u64, bytes: &[u8]) {
        self.0.skipped(offset, bytes);
    }
}

impl Syntax for Etm {
    type Params = Params;
    type Parser = Parser;
    type Packet = Packet;
    type Told = ();

    const SYNCHRONISATION: &'static str = "A-Sync";
    const KINDS: &'static [Kind] = &KINDS;

    fn params(protocol: &input::Protocol) -> Option<&Params> {
        match protocol {
            input::Protocol::Etm(params) => Some(params),
            _ => None,
        }
    }

    fn first(params: &Params, options: &Options, position: u64) -> Parser {
        let resync = if options.like_opencsd { Resync::NextByte } else { Resync::NextAsync };
        Parser::starting_at(params.clone(), position).with_resync(resync)
    }

    fn unfinished(parser: &Parser) -> u64 {
        parser.unfinished()
    }

    fn parse(parser: &mut Parser, bytes: Option<&[u8]>, sink: &mut impl PacketSink<Self>) {
        match bytes {
            Some(bytes) => parser.feed(bytes, &mut Through(sink)),
            None => parser.finish(&mut Through(sink)),
        }
    }

    #[inline(always)]
    fn kind(packet: &Packet) -> usize {
        packet.kind() as usize
    }

    #[inline(always)]
    fn skipped(packet: &Packet) -> u64 {
        if let Packet::NotSync { len } = packet { *len } else { 0 }
    }

    #[inline(always)]
    fn reports_loss(packet: &Packet) -> bool {
        matches!(packet, Packet::Overflow | Packet::Discard)
    }

    fn told(_: &Params) {}

    fn words(params: &Params, (): &(), packet: &Packet, line: &mut Line) {
        text::words(packet, params, line);
    }

    fn fields(params: &Params, (): &(), packet: &Packet, line: &mut Line) {
        // Writing to a line does not fail.
        let _ = text::fields(line, packet, params.profile());
    }

    fn opencsd_protocol(params: &Params) -> Option<&'static str> {
        Some(if params.is_ete() { "ETE" } else { "ETMV4I" })
    }

    fn exception(params: &Params, exception: &Exception) -> String {
        text::exception(params, exception)
    }
}

impl Protocol for Etm {
    type Decoder<'i> = decode::Decoder<'i>;
    type Knows = Knows;
    type Handover = Handover;

    const WINDOW: usize = 1 << 9;

    fn output(_: usize) -> usize {
        16 << 20
    }

    fn decoder<'i>(
        params: &Params,
        options: &Options,
        image: &'i Image,
    ) -> Result<decode::Decoder<'i>, CannotDecode> {
        let Options { like_opencsd, split_source_walks, no_image, .. } = *options;
        let options = decode::Options {
            trust_images: like_opencsd,
            join_source_walks: like_opencsd && !split_source_walks,
            repeat_no_code: like_opencsd,
            no_image,
        };
        decode::Decoder::new(params, image, options).map_err(|error| CannotDecode(error.to_string()))
    }

    fn knows(parser: &Parser, _: &decode::Decoder<'_>) -> Knows {
        Knows { window: parser.position() }
    }

    fn parser(params: &Params, options: &Options, _: &Knows, position: u64) -> Parser {
        Self::first(params, options, position)
    }

    fn restart(decoder: &mut decode::Decoder<'_>, _: &Knows, position: u64) {
        decoder.restart(position);
    }

    fn rewound(params: &Params, options: &Options, knows: &Knows, bytes: &[u8], from: usize) -> Parser {
        let mut parser = Self::first(params, options, knows.window + from as u64);
        // The state of the compression begins with the segment's Trace Info.
        parser.feed(&bytes[from..], &mut |_: u64, _: &[u8], _: &Packet| {});
        parser
    }

    /// Atoms come in runs.
    fn feed<M: Mode>(parser: &mut Parser, bytes: Option<&[u8]>, feed: &mut Feed<'_, '_, Self, M>) {
        match bytes {
            Some(bytes) => parser.feed(bytes, feed),
            None => parser.finish(feed),
        }
    }

    #[inline(always)]
    fn packet<M: Mode>(feed: &mut Feed<'_, '_, Self, M>, offset: u64, len: usize, packet: &Packet) {
        feed.decoder.packet(offset, packet, &mut feed.sink);
        let end = match packet {
            Packet::NotSync { len } => offset + len,
            Packet::Incomplete { .. } => {
                feed.cut(offset, len);
                offset + len as u64
            }
            _ => offset + len as u64,
        };
        feed.taken(offset, end, |handover, decoder| handover.is_now(offset, packet, decoder));
        if *packet == Packet::Async {
            feed.synchronised();
        }
    }

    fn split(_: &Params, _: &Parser, bytes: &[u8], least: usize) -> Vec<usize> {
        // Only candidates are looked at: most bytes cannot start an A-Sync.
        let mut starts = Vec::new();
        let mut from = least;
        let is_async = |window: &[u8]| window == packet::ASYNC;
        while let Some(after) =
            bytes.get(from..).and_then(|rest| rest.windows(packet::ASYNC.len()).position(is_async))
        {
            starts.push(from + after);
            from += after + least;
        }
        starts
    }

    fn handover(start: u64) -> Handover {
        Handover { start, stage: Stage::Async }
    }
}

impl<'i> Decoder<'i> for decode::Decoder<'i> {
    type Snapshot = Snapshot;

    same_methods!(decode::Decoder<'i>, decode::Decoder<'i>);

    fn image(&self) -> &'i Image {
        self.walker().graph().image()
    }

    fn oldest(&self) -> Option<u64> {
        self.oldest()
    }

    fn overflowed(&self) -> bool {
        self.overflowed()
    }

    fn resume(&mut self, offset: u64, moment: Moment) {
        self.resume(offset, moment);
    }
}

/// Watches for the point after an A-Sync where a decoder knows everything: an address and a context came after the Trace Info.
#[derive(Debug)]
pub struct Handover {
    /// Stream position of the A-Sync.
    start: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Async,
    TraceInfo,
    /// Stream positions of the last address and of the last context.
    Known {
        address: Option<u64>,
        context: Option<u64>,
    },
}

impl Handover {
    /// Returns whether this is the point, after `decoder` has taken the packet.
    fn is_now(&mut self, offset: u64, packet: &Packet, decoder: &decode::Decoder<'_>) -> bool {
        match (&mut self.stage, packet) {
            (Stage::Async, Packet::Async) if offset == self.start => self.stage = Stage::TraceInfo,
            (Stage::Async, _) => {}
            (Stage::TraceInfo, Packet::TraceInfo(_)) => {
                self.stage = Stage::Known { address: None, context: None };
            }
            (Stage::TraceInfo, _) => {}
            (Stage::Known { address, context }, packet) => {
                match packet {
                    Packet::Address(_) => *address = Some(offset),
                    Packet::Context(_) => *context = Some(offset),
                    Packet::AddressContext(..) => (*address, *context) = (Some(offset), Some(offset)),
                    _ => {}
                }
                let known = (*address).zip(*context);
                // Both must have been committed.
                let happened = |(address, context): (u64, u64)| {
                    decoder.oldest().is_none_or(|oldest| oldest > address.max(context))
                };
                return known.is_some_and(happened);
            }
        }
        false
    }
}

impl<M: Mode> packet::EtmSink for Feed<'_, '_, Etm, M> {
    const ATOM_RUNS: bool = M::COUNTS;

    #[inline(always)]
    fn atoms(&mut self, offset: u64, run: AtomRun) {
        if !self.is_watching() {
            return self.decoder.atoms_run(offset, run, &mut self.sink);
        }
        for (offset, (header, atoms)) in (offset..).zip(run.packets()) {
            packet::EtmSink::packet(self, offset, &[header], &Packet::Atom(atoms));
        }
    }

    #[inline(always)]
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        if self.is_done() {
            return;
        }
        Etm::packet(self, offset, bytes.len(), packet);
    }

    fn skipped(&mut self, offset: u64, bytes: &[u8]) {
        let are_zero = bytes.iter().all(|&byte| byte == 0);
        if self.is_done() {
            if !are_zero {
                self.passed_over();
            }
        } else {
            self.skip(offset, are_zero);
            self.decoder.skipping(offset, &mut self.sink);
            self.taken_at(offset);
        }
    }
}
