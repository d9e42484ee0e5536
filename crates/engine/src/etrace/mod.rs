//! RISC-V E-Trace as a protocol of the engine. Segments begin at synchronisation packets (format 3, subformats 0 and 1).
//!
//! Messages of all sources are in one stream. Each names its source.

mod text;

use std::convert::Infallible;

use tracewright_core::Exception;
use tracewright_core::stream::PacketSink;
use tracewright_etrace::decode::{self, DataState, Paired, PairedSnapshot};
use tracewright_etrace::packet::{self, Packet, QualStatus, Trap};
use tracewright_etrace::stream::{self, Content, Message, Parser, SyncPoints};
use tracewright_image::{Image, Moment};
use tracewright_input::{self as input, EtraceSource};
use tracewright_isa::riscv::cause;

use crate::line::Line;
use crate::problem::CannotDecode;
use crate::protocol::{Decoder, Options, Protocol, same_methods};
use crate::sink::Mode;
use crate::stream::Feed;
use crate::syntax::{Kind, Syntax};
use crate::tally::Reason;

/// Bytes of a PULP record.
const RECORD: usize = 40;

/// RISC-V E-Trace.
#[derive(Debug)]
pub struct Etrace;

/// State that a cold segment needs: the options of all sources, which support packets report.
#[derive(Debug)]
pub struct Knows {
    parser: Parser,
    options: tracewright_etrace::Options,
    data: DataState,
}

impl Syntax for Etrace {
    type Params = EtraceSource;
    type Parser = Parser;
    type Packet = Message;
    type Run = Infallible;
    /// The options that are switched on.
    type Told = tracewright_etrace::Options;

    const SYNCHRONISATION: &'static str = "synchronisation packet";
    const SYNCHRONISATION_NOTE: &'static str = " (formats 3.0 and 3.1)";
    const KINDS: &'static [Kind] = text::KINDS;
    const NAMES_SOURCES: bool = true;

    fn params(protocol: &input::Protocol) -> Option<&EtraceSource> {
        match protocol {
            input::Protocol::Etrace(source) => Some(source),
            _ => None,
        }
    }

    fn first(source: &EtraceSource, _: &Options, position: u64) -> Parser {
        let config = source.config.clone();
        if position == 0 { Parser::new(config) } else { Parser::slice_at(config, position) }
    }

    fn unfinished(parser: &Parser) -> u64 {
        parser.unfinished()
    }

    #[inline]
    fn parse(parser: &mut Parser, bytes: Option<&[u8]>, sink: &mut impl PacketSink<Message>) {
        let mut sink = |offset: u64, bytes: &[u8], message: &Message| sink.packet(offset, bytes, message);
        match bytes {
            Some(bytes) => parser.feed(bytes, &mut sink),
            None => parser.finish(&mut sink),
        }
    }

    #[inline(always)]
    fn kind(message: &Message) -> usize {
        text::kind(message)
    }

    #[inline(always)]
    fn skipped(message: &Message) -> u64 {
        if let Content::NotSync { len } = message.content { len } else { 0 }
    }

    #[inline(always)]
    fn source(message: &Message) -> Option<u16> {
        match message.content {
            Content::Instruction(_) | Content::Data(_) | Content::Other { .. } => Some(message.source),
            _ => None,
        }
    }

    #[inline(always)]
    fn has_timestamp(message: &Message) -> bool {
        message.timestamp.is_some()
    }

    fn reports_loss(message: &Message) -> bool {
        let Content::Instruction(Packet::Support(support)) = &message.content else { return false };
        support.qual_status == QualStatus::TraceLost || support.dloss
    }

    fn is_filler(message: &Message) -> bool {
        message.content == Content::Idle && message.flow == 0
    }

    /// PULP's records are padded at the beginning.
    fn padding(bytes: &[u8]) -> usize {
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        if bytes.len() == RECORD && zeros > 2 { zeros } else { 0 }
    }

    fn told(source: &EtraceSource) -> tracewright_etrace::Options {
        source.config.options
    }

    fn tell(options: &mut tracewright_etrace::Options, message: &Message) {
        if let Content::Instruction(Packet::Support(support)) = &message.content {
            *options = support.ioptions;
        }
    }

    fn words(_: &EtraceSource, options: &tracewright_etrace::Options, message: &Message, line: &mut Line) {
        // Writing to a line does not fail.
        let _ = text::words(line, message, options);
    }

    fn fields(_: &EtraceSource, options: &tracewright_etrace::Options, message: &Message, line: &mut Line) {
        let _ = text::fields(line, message, options);
    }

    fn exception(_: &EtraceSource, exception: &Exception) -> String {
        cause::describe(exception.number.into(), exception.interrupt).to_owned()
    }
}

impl Protocol for Etrace {
    type Decoder<'i> = Paired<'i>;
    type Knows = Knows;
    type Handover = Handover;

    const WINDOW: usize = 1 << 11;
    /// Support packets report options.
    const NEEDS_START: bool = true;

    /// A byte may stand for hundreds of instructions.
    fn output(jobs: usize) -> usize {
        (jobs << 24).min(1 << 27)
    }

    fn decoder<'i>(
        source: &EtraceSource,
        options: &Options,
        image: &'i Image,
    ) -> Result<Paired<'i>, CannotDecode> {
        if options.like_opencsd || options.no_image {
            return Err(CannotDecode("E-Trace cannot be decoded so".into()));
        }
        let options = decode::Options {
            // Handlers that the caller names take precedence.
            handlers: options.handlers.into_iter().flatten().chain(source.handlers.iter().copied()).collect(),
            initial: source.config.options,
            data: source.config.data,
            source: Some(source.source),
            ..decode::Options::default()
        };
        Ok(Paired::new(&source.config.params, options, image, source.isa))
    }

    fn knows(parser: &Parser, decoder: &Paired<'_>) -> Knows {
        Knows { parser: parser.clone(), options: decoder.options(), data: decoder.data_state() }
    }

    fn parser(_: &EtraceSource, _: &Options, knows: &Knows, position: u64) -> Parser {
        knows.parser.aligned_elsewhere(position)
    }

    fn restart(decoder: &mut Paired<'_>, knows: &Knows, position: u64) {
        decoder.restart(position);
        decoder.set_options(knows.options);
        decoder.set_data_state(knows.data);
    }

    fn rewound(_: &EtraceSource, _: &Options, knows: &Knows, bytes: &[u8], _: usize) -> Parser {
        let mut parser = knows.parser.clone();
        parser.feed(bytes, &mut |_: u64, _: &[u8], _: &Message| {});
        parser
    }

    #[inline(always)]
    fn packet<M: Mode>(feed: &mut Feed<'_, '_, Self, M>, offset: u64, len: usize, message: &Message) {
        let Content::Instruction(packet) = &message.content else {
            return feed.no_packet(offset, len, message);
        };
        if message.source != feed.id {
            return feed.stranger(message.source, len);
        }
        if let Some(address) = sync(packet) {
            feed.synchronised();
            if let Some(address) = address {
                feed.synchronised_at(offset, address);
            }
        }
        feed.decoder.message(offset, message, &mut feed.sink);
        let end = offset + len as u64;
        feed.taken(offset, end, |handover, decoder| handover.is_now(offset, packet, decoder));
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

    same_methods!(Paired<'i>, decode::Decoder<'i>);

    fn resume(&mut self, offset: u64, moment: Moment) {
        self.resume(offset, moment);
    }

    fn image(&self) -> &'i Image {
        self.runner().graph().image()
    }
}

/// Watches for the point where a decoder that began at a synchronisation packet holds back the same block as one that came from
/// before: both have left the block that the packet's address is in. The packet itself reports everything else they know.
#[derive(Debug)]
pub struct Handover {
    /// Stream position of the packet.
    start: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Before,
    /// The packet has come, with this address.
    Synchronised(Option<u64>),
}

impl Handover {
    /// Returns whether this is the point, after `decoder` has taken the packet.
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

/// Returns the address of a synchronisation packet, if it has one; `None` for other packets.
fn sync(packet: &Packet) -> Option<Option<u64>> {
    match packet {
        Packet::Start(packet::Start { address, .. }) => Some(Some(*address)),
        Packet::Trap(Trap { address, .. }) => Some(*address),
        _ => None,
    }
}

impl<M: Mode> Feed<'_, '_, Etrace, M> {
    /// Takes a message that is not an instruction trace packet.
    #[cold]
    fn no_packet(&mut self, offset: u64, len: usize, message: &Message) {
        let end = match message.content {
            Content::NotSync { len } => {
                self.passed_over();
                offset + len
            }
            _ => offset + len as u64,
        };
        match message.content {
            Content::Incomplete => self.cut(offset, len),
            Content::Malformed(why) => {
                let (field, what) = why.parts();
                self.malformed(offset, Reason { field, what });
            }
            _ => {}
        }
        self.decoder.message(offset, message, &mut self.sink);
        self.taken(offset, end, |_, _| false);
    }
}
