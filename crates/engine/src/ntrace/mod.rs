//! RISC-V N-Trace as a protocol of the engine. Segments begin at synchronisation messages.
//!
//! Messages of all sources are in one stream. Each names its source.

mod text;

use std::any::Any;
use std::convert::Infallible;

use tracewright_core::Exception;
use tracewright_core::stream::PacketSink;
use tracewright_image::{Image, Moment};
use tracewright_input::{self as input, NtraceSource};
use tracewright_ntrace::decode::{self, Snapshot};
use tracewright_ntrace::packet::{self, Packet};
use tracewright_ntrace::stream::{self, Content, Message, SyncPoints};
use tracewright_ntrace::{Mode as BranchMode, Params};

use crate::line::Line;
use crate::problem::CannotDecode;
use crate::protocol::{Decoder, Options, Protocol, same_methods};
use crate::sink::Mode;
use crate::stream::Feed;
use crate::syntax::{Kind, Syntax};
use crate::tally::Reason;

/// Most blocks that a message may stand for. An encoder repeats a history of 31 branches 2^18 times at most.
const MOST_BLOCKS: u64 = 1 << 24;

/// RISC-V N-Trace.
#[derive(Debug)]
pub struct Ntrace;

/// Returns a source's parameters, if it is N-Trace.
pub fn source(protocol: &input::Protocol) -> Option<&NtraceSource> {
    match protocol {
        input::Protocol::Registered(params) => (&**params as &dyn Any).downcast_ref(),
        _ => None,
    }
}

/// Parser of a stream, whose messages have the numbers of sources in the buffer.
#[derive(Clone, Debug)]
pub struct Parser {
    inner: stream::Parser,
    source: NtraceSource,
}

impl Parser {
    fn aligned_at(source: &NtraceSource, position: u64) -> Self {
        let inner = stream::Parser::aligned_at(source.params.clone(), position);
        Self { inner, source: source.clone() }
    }
}

/// A sink that receives messages with the numbers of sources in the buffer.
struct Numbered<'a, S> {
    source: &'a NtraceSource,
    sink: &'a mut S,
}

impl<S: PacketSink<Message>> PacketSink<Message> for Numbered<'_, S> {
    #[inline(always)]
    fn packet(&mut self, offset: u64, bytes: &[u8], message: &Message) {
        let source = self.source.number(message.source);
        self.sink.packet(offset, bytes, &Message { source, ..*message });
    }

    fn skipped(&mut self, offset: u64, bytes: &[u8]) {
        self.sink.skipped(offset, bytes);
    }
}

impl Syntax for Ntrace {
    type Params = NtraceSource;
    type Parser = Parser;
    type Packet = Message;
    type Run = Infallible;
    type Told = ();

    const SYNCHRONISATION: &'static str = "synchronisation message";
    const SYNCHRONISATION_NOTE: &'static str = " (TCODEs 9, 11, 12 and 29)";
    const KINDS: &'static [Kind] = text::KINDS;
    const NAMES_SOURCES: bool = true;

    fn params(protocol: &input::Protocol) -> Option<&NtraceSource> {
        source(protocol)
    }

    fn first(source: &NtraceSource, _: &Options, position: u64) -> Parser {
        let mut parser = Parser::aligned_at(source, position);
        // The oldest byte of a ring may be anywhere in a message.
        if source.sram.is_some_and(|sram| sram.has_wrapped()) {
            parser.inner = stream::Parser::starting_at(source.params.clone(), position);
        } else if position > 0 {
            parser.inner = stream::Parser::slice_at(source.params.clone(), position);
        }
        parser
    }

    fn unfinished(parser: &Parser) -> u64 {
        parser.inner.unfinished()
    }

    #[inline]
    fn parse(parser: &mut Parser, bytes: Option<&[u8]>, sink: &mut impl PacketSink<Message>) {
        let Parser { inner, source } = parser;
        let mut sink = Numbered { source, sink };
        match bytes {
            Some(bytes) => inner.feed(bytes, &mut sink),
            None => inner.finish(&mut sink),
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
        matches!(message.content, Content::Packet(_) | Content::Other { .. }).then_some(message.source)
    }

    fn source_of(source: &NtraceSource, bytes: &[u8]) -> Option<u16> {
        // Idle bytes are nobody's.
        let is_message = bytes.first() != Some(&0xff) && bytes.len() > 1;
        let src = is_message.then(|| packet::source_of(bytes, &source.params)).flatten()?;
        Some(if source.params.src_bits == 0 { source.id } else { src })
    }

    #[inline(always)]
    fn has_timestamp(message: &Message) -> bool {
        message.timestamp.is_some()
    }

    fn reports_loss(message: &Message) -> bool {
        matches!(message.content, Content::Packet(Packet::Error { .. }))
    }

    fn is_filler(message: &Message) -> bool {
        matches!(message.content, Content::Idle { .. })
    }

    fn told(_: &NtraceSource) {}

    fn words(_: &NtraceSource, (): &(), message: &Message, line: &mut Line) {
        // Writing to a line does not fail.
        let _ = text::words(line, message);
    }

    fn fields(_: &NtraceSource, (): &(), message: &Message, line: &mut Line) {
        let _ = text::fields(line, message);
    }

    /// The trace has no causes.
    fn exception(_: &NtraceSource, exception: &Exception) -> String {
        if exception.interrupt { "interrupt" } else { "trap" }.to_owned()
    }
}

impl Protocol for Ntrace {
    type Decoder<'i> = decode::Decoder<'i>;
    /// Parser at the start of the window.
    type Knows = Parser;
    type Handover = Handover;

    const WINDOW: usize = 1 << 11;

    /// A byte may stand for hundreds of instructions.
    fn output(jobs: usize) -> usize {
        (jobs << 24).min(1 << 27)
    }

    fn decoder<'i>(
        source: &NtraceSource,
        options: &Options,
        image: &'i Image,
    ) -> Result<decode::Decoder<'i>, CannotDecode> {
        if options.like_opencsd || options.no_image {
            return Err(CannotDecode("N-Trace cannot be decoded so".into()));
        }
        let options = decode::Options { most_blocks: Some(MOST_BLOCKS), ..decode::Options::default() };
        Ok(decode::Decoder::new(&source.params, options, image, source.isa))
    }

    fn knows(parser: &Parser, _: &decode::Decoder<'_>) -> Parser {
        parser.clone()
    }

    fn parser(source: &NtraceSource, _: &Options, _: &Parser, position: u64) -> Parser {
        Parser::aligned_at(source, position)
    }

    fn restart(decoder: &mut decode::Decoder<'_>, _: &Parser, position: u64) {
        decoder.restart(position);
    }

    fn rewound(_: &NtraceSource, _: &Options, window: &Parser, bytes: &[u8], _: usize) -> Parser {
        let mut parser = window.clone();
        parser.inner.feed(bytes, &mut |_: u64, _: &[u8], _: &Message| {});
        parser
    }

    #[inline(always)]
    fn packet<M: Mode>(feed: &mut Feed<'_, '_, Self, M>, offset: u64, len: usize, message: &Message) {
        let Content::Packet(packet) = &message.content else {
            return feed.no_packet(offset, len, message);
        };
        if message.source != feed.id {
            return feed.stranger(message.source, len);
        }
        if let Some(what) = of_other_mode(feed.decoder.params(), packet) {
            feed.malformed(offset, Reason { field: "mode", what });
        }
        if packet.sync().is_some() {
            feed.synchronised();
        }
        feed.decoder.message(offset, message, &mut feed.sink);
        if packet.sync().is_some() {
            feed.synchronised_at(offset, feed.decoder.reference());
        }
        let end = offset + len as u64;
        feed.taken(offset, end, |handover, _| handover.is_now(offset, packet));
    }

    fn split(source: &NtraceSource, _: &Parser, bytes: &[u8], least: usize) -> Vec<usize> {
        let mut starts = Vec::new();
        let mut last = 0;
        for point in SyncPoints::new(&source.params, bytes) {
            if source.number(point.source) == source.id && point.offset >= last + least {
                starts.push(point.offset);
                last = point.offset;
            }
        }
        starts
    }

    fn handover(start: u64) -> Handover {
        Handover { start, is_synchronised: false }
    }
}

impl<'i> Decoder<'i> for decode::Decoder<'i> {
    type Snapshot = Snapshot;

    same_methods!(decode::Decoder<'i>, decode::Decoder<'i>);

    fn resume(&mut self, offset: u64, moment: Moment) {
        self.resume(offset, moment);
    }

    fn image(&self) -> &'i Image {
        self.graph().image()
    }
}

/// Watches for the point where a decoder that began at a synchronisation message knows as much as one that came from before: after a
/// branch, both have left the block that the message's address is in.
#[derive(Debug)]
pub struct Handover {
    /// Stream position of the message.
    start: u64,
    is_synchronised: bool,
}

impl Handover {
    /// Returns whether this is the point, after the decoder has taken the packet.
    fn is_now(&mut self, offset: u64, packet: &Packet) -> bool {
        if !self.is_synchronised {
            self.is_synchronised = offset == self.start;
            return false;
        }
        matches!(
            packet,
            Packet::DirectBranch { .. } | Packet::IndirectBranch { .. } | Packet::IndirectBranchHist { .. }
        )
    }
}

/// Returns what the mode must be instead, if it does not have such messages.
#[inline(always)]
fn of_other_mode(params: &Params, packet: &Packet) -> Option<&'static str> {
    match (params.mode, packet) {
        (
            BranchMode::History,
            Packet::DirectBranch { .. } | Packet::DirectBranchSync { .. } | Packet::RepeatBranch { .. },
        ) => Some("must be branch: in the mode history there is no such message"),
        (
            BranchMode::Branch,
            Packet::IndirectBranchHist { .. }
            | Packet::IndirectBranchHistSync { .. }
            | Packet::ResourceFull { rcode: 1 | 2, .. },
        ) => Some("must be history: in the mode branch there is no such message"),
        _ => None,
    }
}

impl<M: Mode> Feed<'_, '_, Ntrace, M> {
    /// Takes a message without a known meaning, or bytes that are none.
    #[cold]
    fn no_packet(&mut self, offset: u64, len: usize, message: &Message) {
        let mut end = offset + len as u64;
        match message.content {
            Content::Other { .. } if message.source != self.id => {
                return self.stranger(message.source, len);
            }
            Content::NotSync { len } => {
                end = offset + len;
                self.passed_over();
            }
            Content::Idle { len } | Content::Other { len, .. } => end = offset + len,
            Content::Incomplete => self.cut(offset, len),
            Content::Malformed(why) => {
                let (field, what) = why.parts();
                self.malformed(offset, Reason { field, what });
            }
            Content::Packet(_) => {}
        }
        self.decoder.message(offset, message, &mut self.sink);
        self.taken(offset, end, |_, _| false);
    }
}
