//! RISC-V E-Trace, for the engine: segments begin at synchronisation packets (format 3, subformats 0 and 1).
//!
//! All sources' messages are in one stream. Each source has a lane of its own, which sees all bytes and takes its messages.

use tracewright_core::MemorySpace;
use tracewright_etrace::decode::{self, DataState, Handler, Paired, PairedSnapshot};
use tracewright_etrace::packet::{self, Packet, Trap};
use tracewright_etrace::stream::{self, Content, Message, Parser, SyncPoints};
use tracewright_flow::{Graph, Sink};
use tracewright_image::Image;
use tracewright_input::{self as input, EtraceSource};

use super::part::Print;
use super::protocol::{Decoder, Protocol};
use super::segment::Feed;
use super::source::Unit;

/// RISC-V E-Trace.
#[derive(Debug)]
pub struct Etrace;

/// How to decode it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Where trap handlers are, of each privilege.
    pub handlers: [Option<Handler>; 4],
}

/// What must be known to begin in the middle: the options that support packets have told, of all sources.
pub struct Knows {
    parser: Parser,
    options: tracewright_etrace::Options,
    data: DataState,
}

impl Protocol for Etrace {
    type Params = EtraceSource;
    type Options = Options;
    type Parser = Parser;
    type Decoder<'i> = Paired<'i>;
    type Knows = Knows;
    type Handover = Handover;

    const WINDOW: usize = 1 << 11;
    const SYNCHRONISATION: &'static str = "synchronisation packet";

    /// A byte may stand for hundreds of instructions.
    fn text(jobs: usize) -> usize {
        (jobs << 24).min(1 << 27)
    }

    fn params(protocol: &input::Protocol) -> Option<&EtraceSource> {
        match protocol {
            input::Protocol::Etrace(source) => Some(source),
            _ => None,
        }
    }

    fn unit(_: &EtraceSource) -> Unit<'_> {
        Unit::Etrace
    }

    fn decoder<'i>(source: &EtraceSource, options: Options, image: &'i Image) -> Result<Paired<'i>, String> {
        let options = decode::Options {
            // Those that people name come first, and count.
            handlers: options.handlers.into_iter().flatten().chain(source.handlers.iter().copied()).collect(),
            initial: source.config.options,
            data: source.config.data,
            source: Some(source.source),
            ..decode::Options::default()
        };
        Ok(Paired::new(&source.config.params, options, image, source.isa))
    }

    fn first(source: &EtraceSource, _: Options, position: u64) -> Parser {
        let config = source.config.clone();
        if position == 0 { Parser::new(config) } else { Parser::starting_at(config, position) }
    }

    fn knows(parser: &Parser, decoder: &Paired<'_>) -> Knows {
        Knows { parser: parser.clone(), options: decoder.options(), data: decoder.data_state() }
    }

    fn parser(_: &EtraceSource, _: Options, knows: &Knows, position: u64) -> Parser {
        knows.parser.aligned_elsewhere(position)
    }

    fn restart(decoder: &mut Paired<'_>, knows: &Knows, position: u64) {
        decoder.restart(position);
        decoder.set_options(knows.options);
        decoder.set_data_state(knows.data);
    }

    fn rewound(_: &EtraceSource, _: Options, knows: &Knows, bytes: &[u8], _: usize) -> Parser {
        let mut parser = knows.parser.clone();
        parser.feed(bytes, &mut |_: u64, _: &[u8], _: &Message| {});
        parser
    }

    fn unfinished(parser: &Parser) -> u64 {
        parser.unfinished()
    }

    fn feed<P: Print>(parser: &mut Parser, bytes: &[u8], feed: &mut Feed<'_, '_, Self, P>) {
        parser.feed(bytes, feed);
    }

    fn end<P: Print>(parser: &mut Parser, feed: &mut Feed<'_, '_, Self, P>) {
        parser.finish(feed);
    }

    fn split(source: &EtraceSource, parser: &Parser, bytes: &[u8], least: usize) -> Vec<usize> {
        let mut starts = Vec::new();
        let Some(first) = parser.next_message() else { return starts };
        let (options, data) = parser.options(source.source);
        let config = stream::Config { options, data, ..source.config.clone() };
        let mut last = 0;
        for point in SyncPoints::new(&config, bytes.get(first..).unwrap_or_default()) {
            let at = first + point.offset;
            if point.source == source.source && at >= last + least {
                starts.push(at);
                last = at;
            }
        }
        starts
    }

    fn handover(start: u64) -> Handover {
        Handover { start, stage: Stage::Before }
    }
}

impl<'i> Decoder<'i> for Paired<'i> {
    type Snapshot = PairedSnapshot;

    fn snapshot(&self) -> PairedSnapshot {
        self.snapshot()
    }

    fn image(&self) -> &'i Image {
        self.runner().graph().image()
    }

    fn graph_mut(&mut self) -> &mut Graph<'i> {
        self.graph_mut()
    }

    fn space(&self) -> MemorySpace {
        decode::Decoder::space(self)
    }

    /// What a packet tells is told with it.
    fn oldest(&self) -> Option<u64> {
        None
    }

    fn last_offset(&self) -> Option<u64> {
        decode::Decoder::last_offset(self)
    }

    #[inline]
    fn gap_start(&self) -> Option<u64> {
        decode::Decoder::gap_start(self)
    }

    fn overflowed(&self) -> bool {
        false
    }

    fn interrupt(&mut self, offset: u64, sink: &mut impl Sink) {
        self.interrupt(offset, sink);
    }

    fn finish(&mut self, offset: u64, sink: &mut impl Sink) {
        self.finish(offset, sink);
    }
}

/// Watches for the point where a decoder that began at a synchronisation packet holds back the same block as one that came
/// from before: both have left the block that the packet's address is in. All else they know the packet has told.
pub struct Handover {
    /// Stream position of the packet.
    start: u64,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    Before,
    /// The packet has come, with this address.
    Synchronised(Option<u64>),
}

impl Handover {
    /// Whether this is the point, `decoder` having taken the packet.
    fn is_now(&mut self, offset: u64, packet: &Packet, decoder: &Paired<'_>) -> bool {
        match self.stage {
            Stage::Before if offset == self.start => {
                self.stage = Stage::Synchronised(sync(packet).flatten());
                false
            }
            Stage::Before => false,
            Stage::Synchronised(address) => {
                let held = decoder.held_back();
                !held.zip(address).is_some_and(|(held, address)| held.contains(&address))
            }
        }
    }
}

/// Whether this is a synchronisation packet; its address, if it has one.
fn sync(packet: &Packet) -> Option<Option<u64>> {
    match packet {
        Packet::Start(packet::Start { address, .. }) => Some(Some(*address)),
        Packet::Trap(Trap { address, .. }) => Some(*address),
        _ => None,
    }
}

impl<P: Print> stream::Sink for Feed<'_, '_, Etrace, P> {
    #[inline(always)]
    fn message(&mut self, offset: u64, bytes: &[u8], message: &Message) {
        if self.is_done() {
            return;
        }
        let Content::Instruction(packet) = &message.content else {
            return self.no_packet(offset, bytes, message);
        };
        if message.source != self.out.source.id {
            return;
        }
        if let Some(address) = sync(packet) {
            *self.synchronised = true;
            self.count(offset, address);
        }
        self.decoder.message(offset, message, &mut self.out);
        let end = offset + bytes.len() as u64;
        self.taken(offset, end, |handover, decoder| handover.is_now(offset, packet, decoder));
    }
}

impl<P: Print> Feed<'_, '_, Etrace, P> {
    /// A message that is no instruction trace packet.
    #[cold]
    fn no_packet(&mut self, offset: u64, bytes: &[u8], message: &Message) {
        let end = match message.content {
            Content::NotSync { len } => {
                *self.out.passed_over = true;
                offset + len
            }
            _ => offset + bytes.len() as u64,
        };
        if message.content == Content::Incomplete {
            self.cut = Some((offset, bytes.len()));
        }
        if let Content::Malformed(why) = message.content {
            let tally = &mut self.out.part.tally;
            tally.malformed += 1;
            tally.first_malformed.get_or_insert((offset, why));
        }
        self.decoder.message(offset, message, &mut self.out);
        self.taken(offset, end, |_, _| false);
    }

    /// Counts what tells whether parameters and images are the right ones.
    fn count(&mut self, offset: u64, address: Option<u64>) {
        let Some(address) = address else { return };
        let known = self.out.image.lookup(address, MemorySpace::ANY).is_some();
        let tally = &mut self.out.part.tally;
        if !known {
            tally.syncs_outside += 1;
            tally.first_sync_outside.get_or_insert((offset, address));
        }
        tally.first_sync.get_or_insert(offset);
        tally.syncs += 1;
    }
}
