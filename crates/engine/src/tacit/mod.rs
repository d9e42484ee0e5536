//! TACIT as a protocol of the engine. Its streams are decoded in order, from their first byte: nothing tells where packets begin.

mod text;

use std::any::Any;
use std::convert::Infallible;

use tracewright_core::Exception;
use tracewright_core::stream::PacketSink;
use tracewright_image::Image;
use tracewright_input::{self as input, TacitSource};
use tracewright_tacit::decode::{self, Snapshot};
use tracewright_tacit::packet::Packet;
use tracewright_tacit::stream::{Item, Parser};
use tracewright_tacit::{Mode as BranchMode, Params};

use crate::line::Line;
use crate::problem::CannotDecode;
use crate::protocol::{Decoder, Options, Protocol, same_methods};
use crate::sink::Mode;
use crate::stream::Feed;
use crate::syntax::{Kind, Syntax};
use crate::tally::Reason;

/// Most blocks that a packet may stand for.
const MOST_BLOCKS: u64 = 1 << 26;

/// TACIT.
#[derive(Debug)]
pub struct Tacit;

/// Returns a source's parameters, if it is TACIT.
pub fn source(protocol: &input::Protocol) -> Option<&TacitSource> {
    match protocol {
        input::Protocol::Registered(params) => (&**params as &dyn Any).downcast_ref(),
        _ => None,
    }
}

impl Syntax for Tacit {
    type Params = TacitSource;
    type Parser = Parser;
    type Packet = Item;
    type Run = Infallible;
    type Told = ();

    const SYNCHRONISATION: &'static str = "synchronisation packet";
    const KINDS: &'static [Kind] = text::KINDS;

    fn params(protocol: &input::Protocol) -> Option<&TacitSource> {
        source(protocol)
    }

    fn first(source: &TacitSource, _: &Options, position: u64) -> Parser {
        Parser::starting_at(source.params.clone(), position)
    }

    fn unfinished(parser: &Parser) -> u64 {
        parser.unfinished()
    }

    #[inline]
    fn parse(parser: &mut Parser, bytes: Option<&[u8]>, sink: &mut impl PacketSink<Item>) {
        match bytes {
            Some(bytes) => parser.feed(bytes, sink),
            None => parser.finish(sink),
        }
    }

    #[inline(always)]
    fn kind(item: &Item) -> usize {
        text::kind(item)
    }

    #[inline(always)]
    fn skipped(item: &Item) -> u64 {
        if let Item::NotSync { len } = item { *len } else { 0 }
    }

    fn told(_: &TacitSource) {}

    fn words(_: &TacitSource, (): &(), item: &Item, line: &mut Line) {
        // Writing to a line does not fail.
        let _ = text::words(line, item);
    }

    fn fields(_: &TacitSource, (): &(), item: &Item, line: &mut Line) {
        let _ = text::fields(line, item);
    }

    /// The trace has no causes.
    fn exception(_: &TacitSource, exception: &Exception) -> String {
        if exception.interrupt { "interrupt" } else { "exception" }.to_owned()
    }
}

impl Protocol for Tacit {
    type Decoder<'i> = decode::Decoder<'i>;
    /// Parser at the start of the window.
    type Knows = Parser;
    type Handover = Never;

    const WINDOW: usize = 1 << 12;
    const NEEDS_START: bool = true;

    /// A byte may stand for several instructions, or in the mode predict for many.
    fn output(jobs: usize) -> usize {
        (jobs << 24).min(1 << 27)
    }

    fn decoder<'i>(
        source: &TacitSource,
        options: &Options,
        image: &'i Image,
    ) -> Result<decode::Decoder<'i>, CannotDecode> {
        if options.like_opencsd || options.no_image {
            return Err(CannotDecode("TACIT cannot be decoded so".into()));
        }
        let options = decode::Options { most_blocks: Some(MOST_BLOCKS) };
        Ok(decode::Decoder::new(&source.params, options, image, source.isa))
    }

    fn knows(parser: &Parser, _: &decode::Decoder<'_>) -> Parser {
        parser.clone()
    }

    fn parser(source: &TacitSource, _: &Options, _: &Parser, position: u64) -> Parser {
        Parser::starting_at(source.params.clone(), position)
    }

    fn restart(decoder: &mut decode::Decoder<'_>, _: &Parser, position: u64) {
        decoder.restart(position);
    }

    fn rewound(_: &TacitSource, _: &Options, window: &Parser, bytes: &[u8], _: usize) -> Parser {
        let mut parser = window.clone();
        parser.feed(bytes, &mut |_: u64, _: &[u8], _: &Item| {});
        parser
    }

    #[inline(always)]
    fn packet<M: Mode>(feed: &mut Feed<'_, '_, Self, M>, offset: u64, len: usize, item: &Item) {
        let Item::Packet(packet) = item else { return feed.no_packet(offset, len, item) };
        feed.decoder.packet(offset, packet, &mut feed.sink);
        if let Packet::Sync { configuration, .. } = packet {
            feed.synchronised();
            feed.synchronised_at(offset, feed.decoder.reference());
            if let Some(what) = configuration.and_then(|found| of_other_mode(feed.decoder.params(), found)) {
                feed.malformed(offset, Reason { field: "mode", what });
            }
        }
        feed.taken(offset, offset + len as u64, |_, _| false);
    }

    /// Nowhere.
    fn split(_: &TacitSource, _: &Parser, _: &[u8], _: usize) -> Vec<usize> {
        Vec::new()
    }

    fn handover(_: u64) -> Never {
        Never
    }
}

impl<'i> Decoder<'i> for decode::Decoder<'i> {
    type Snapshot = Snapshot;

    same_methods!(decode::Decoder<'i>, decode::Decoder<'i>);

    fn image(&self) -> &'i Image {
        self.graph().image()
    }
}

/// Returns what may be wrong with the description of a source, or nothing: `outside` has position and address of the first synchronisation
/// outside all images.
pub fn advice(mismatches: u64, outside: Option<(u64, u64)>) -> String {
    match outside {
        Some((offset, address)) => format!(
            "the trace starts at an address outside every image ({address:#x}): is a program missing? If not, check form and \
             address_bits (at offset {offset:#x})"
        ),
        None if mismatches > 0 => format!(
            "the program could not be followed {mismatches} times: check that it is the one that ran, and mode, entries and form"
        ),
        None => String::new(),
    }
}

/// No segment ever takes over.
#[derive(Debug)]
pub struct Never;

/// Returns what the mode must be instead, by the configuration that the stream has.
fn of_other_mode(params: &Params, configuration: u8) -> Option<&'static str> {
    match (configuration & 3, params.mode) {
        (0, BranchMode::Target) | (2, BranchMode::Predict) => None,
        (0, _) => Some("must be target: the trace says so"),
        (2, _) => Some("must be predict, with the number of entries: the trace says so"),
        _ => Some("is one that no encoder has: the trace cannot be read, or form is another"),
    }
}

impl<M: Mode> Feed<'_, '_, Tacit, M> {
    /// Takes bytes that are no packet.
    #[cold]
    fn no_packet(&mut self, offset: u64, len: usize, item: &Item) {
        let mut end = offset + len as u64;
        match *item {
            Item::NotSync { len } => {
                end = offset + len;
                self.passed_over();
            }
            Item::Incomplete => self.cut(offset, len),
            Item::Malformed(why) => {
                let (field, what) = why.parts();
                self.malformed(offset, Reason { field, what });
            }
            Item::Packet(_) => {}
        }
        self.decoder.item(offset, item, &mut self.sink);
        self.taken(offset, end, |_, _| false);
    }
}
