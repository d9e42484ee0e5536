//! ETMv4 and ETE, for the engine: segments begin at A-Syncs.

use tracewright_core::MemorySpace;
use tracewright_etm::Params;
use tracewright_etm::decode::{self, Snapshot};
use tracewright_etm::packet::{self, AtomRun, Packet, Parser, Resync};
use tracewright_flow::{Graph, Sink};
use tracewright_image::{Image, Moment};
use tracewright_input as input;

use crate::protocol::{Decoder, Options, Protocol};
use crate::sink::Mode;
use crate::stream::Feed;

/// ETMv4 and ETE.
#[derive(Debug)]
pub struct Etm;

/// A Trace Info restarts all compression: nothing must be known but where the window begins, as a stream position.
#[derive(Debug)]
pub struct Knows {
    window: u64,
}

impl Protocol for Etm {
    type Params = Params;
    type Parser = Parser;
    type Decoder<'i> = decode::Decoder<'i>;
    type Knows = Knows;
    type Handover = Handover;

    const WINDOW: usize = 1 << 9;
    const SYNCHRONISATION: &'static str = "A-Sync";

    fn output(_: usize) -> usize {
        16 << 20
    }

    fn params(protocol: &input::Protocol) -> Option<&Params> {
        match protocol {
            input::Protocol::Etm(params) => Some(params),
            _ => None,
        }
    }

    fn decoder<'i>(
        params: &Params,
        options: &Options,
        image: &'i Image,
    ) -> Result<decode::Decoder<'i>, String> {
        let Options { like_opencsd, split_source_walks, no_image, .. } = *options;
        let options = decode::Options {
            trust_images: like_opencsd,
            join_source_walks: like_opencsd && !split_source_walks,
            repeat_no_code: like_opencsd,
            no_image,
        };
        decode::Decoder::new(params, image, options).map_err(|error| error.to_string())
    }

    fn first(params: &Params, options: &Options, position: u64) -> Parser {
        let resync = if options.like_opencsd { Resync::NextByte } else { Resync::NextAsync };
        Parser::starting_at(params.clone(), position).with_resync(resync)
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

    fn unfinished(parser: &Parser) -> u64 {
        parser.unfinished()
    }

    fn feed<M: Mode>(parser: &mut Parser, bytes: &[u8], feed: &mut Feed<'_, '_, Self, M>) {
        parser.feed(bytes, feed);
    }

    fn end<M: Mode>(parser: &mut Parser, feed: &mut Feed<'_, '_, Self, M>) {
        parser.finish(feed);
    }

    fn split(_: &Params, _: &Parser, bytes: &[u8], least: usize) -> Vec<usize> {
        // Only what may be a start is looked at: most bytes are not.
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

    fn snapshot(&self) -> Snapshot {
        self.snapshot()
    }

    fn image(&self) -> &'i Image {
        self.walker().graph().image()
    }

    fn graph_mut(&mut self) -> &mut Graph<'i> {
        self.graph_mut()
    }

    fn space(&self) -> MemorySpace {
        self.space()
    }

    fn oldest(&self) -> Option<u64> {
        self.oldest()
    }

    fn last_offset(&self) -> Option<u64> {
        self.last_offset()
    }

    #[inline]
    fn gap_start(&self) -> Option<u64> {
        self.gap_start()
    }

    fn overflowed(&self) -> bool {
        self.overflowed()
    }

    fn resume(&mut self, offset: u64, moment: Moment) {
        self.resume(offset, moment);
    }

    fn interrupt(&mut self, offset: u64, sink: &mut impl Sink) {
        self.interrupt(offset, sink);
    }

    fn finish(&mut self, offset: u64, sink: &mut impl Sink) {
        self.finish(offset, sink);
    }
}

/// Watches for the point where all that matters was told since an A-Sync: an address and a context since the Trace Info.
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
    /// Whether this is the point, `decoder` having taken the packet.
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
                // Both must have happened, not only have been announced.
                let happened = |(address, context): (u64, u64)| {
                    decoder.oldest().is_none_or(|oldest| oldest > address.max(context))
                };
                return known.is_some_and(happened);
            }
        }
        false
    }
}

impl<M: Mode> packet::Sink for Feed<'_, '_, Etm, M> {
    const ATOM_RUNS: bool = M::COUNTS;

    #[inline(always)]
    fn atoms(&mut self, offset: u64, run: AtomRun) {
        if !self.is_watching() {
            return self.decoder.atoms_run(offset, run, &mut self.sink);
        }
        for (offset, (header, atoms)) in (offset..).zip(run.packets()) {
            self.packet(offset, &[header], &Packet::Atom(atoms));
        }
    }

    #[inline(always)]
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        if self.is_done() {
            return;
        }
        self.decoder.packet(offset, packet, &mut self.sink);
        let len = match packet {
            Packet::NotSync { len } => *len,
            Packet::Incomplete { .. } => {
                self.cut(offset, bytes.len());
                bytes.len() as u64
            }
            _ => bytes.len() as u64,
        };
        self.taken(offset, offset + len, |handover, decoder| handover.is_now(offset, packet, decoder));
        if *packet == Packet::Async {
            self.synchronised();
        }
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
