//! What the engine asks of a protocol, and which protocols there are.

use std::sync::{PoisonError, RwLock};

use tracewright_core::MemorySpace;
use tracewright_etrace::decode::Handler;
use tracewright_flow::{ElementSink, Graph};
use tracewright_image::{Image, Moment};
use tracewright_input as input;

use crate::etm::Etm;
use crate::etrace::Etrace;
use crate::sink::Mode;
use crate::stream::{Feed, Plug};
use crate::syntax::Syntax;

/// How to decode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// As OpenCSD's tools do: programs are trusted, code that is missing is told each time, and after bytes that are no packet
    /// reading goes on with the next one.
    pub like_opencsd: bool,
    /// Like OpenCSD: a range of its own for each branch that a source address passes over.
    pub split_source_walks: bool,
    /// Without any program: where branches went.
    pub no_image: bool,
    /// Where trap handlers are, where the trace leaves it out. They come before those that the capture names.
    pub handlers: [Option<Handler>; 4],
}

/// A protocol: how its packets are decoded, and where in the middle of a stream that can begin.
///
/// A cold segment begins where [`split`](Self::split) says. Behind that is a point where a decoder that began there knows all
/// that one knows that came from before; both find the same one, each with a [`Handover`](Self::Handover) of its own. That
/// they know the same is not taken on trust: their snapshots are compared.
pub trait Protocol: Syntax {
    /// From packets to elements.
    type Decoder<'i>: Decoder<'i>;
    /// What must be known of a stream to begin in its middle.
    type Knows: Send + Sync + 'static;
    /// Watches for the point where a segment takes over.
    type Handover;

    /// Bytes of a window for each job, at least: synchronisation points are further apart than that.
    const WINDOW: usize;
    /// Bytes of output that a window is to give, with so many jobs.
    fn output(jobs: usize) -> usize;

    /// Whether the start of a stream tells something that is needed in its middle.
    const NEEDS_START: bool = false;

    /// A decoder, or why there can be none.
    fn decoder<'i>(
        params: &Self::Params,
        options: &Options,
        image: &'i Image,
    ) -> Result<Self::Decoder<'i>, String>;

    /// What is known of the stream where these are.
    fn knows(parser: &Self::Parser, decoder: &Self::Decoder<'_>) -> Self::Knows;
    /// A parser of the bytes from stream position `position` on, where a segment begins.
    fn parser(params: &Self::Params, options: &Options, knows: &Self::Knows, position: u64) -> Self::Parser;
    /// Makes a decoder begin anew there, with all that it has learnt about the program.
    fn restart(decoder: &mut Self::Decoder<'_>, knows: &Self::Knows, position: u64);
    /// A parser that goes on behind `bytes`, those of the window up to a point where a segment takes over that begins with
    /// `bytes[from]`.
    fn rewound(
        params: &Self::Params,
        options: &Options,
        knows: &Self::Knows,
        bytes: &[u8],
        from: usize,
    ) -> Self::Parser;
    /// Decodes a packet of `len` bytes that begins at stream position `offset`.
    fn packet<M: Mode>(feed: &mut Feed<'_, '_, Self, M>, offset: u64, len: usize, packet: &Self::Packet);
    /// Parses bytes and decodes their packets; `None` ends the stream.
    fn feed<M: Mode>(parser: &mut Self::Parser, bytes: Option<&[u8]>, feed: &mut Feed<'_, '_, Self, M>) {
        Self::parse(parser, bytes, feed);
    }

    /// Where in `bytes`, which `parser` takes next, segments of at least `least` bytes begin.
    fn split(params: &Self::Params, parser: &Self::Parser, bytes: &[u8], least: usize) -> Vec<usize>;
    /// Watches for the segment that begins at stream position `start`.
    fn handover(start: u64) -> Self::Handover;
}

/// A decoder: packets in, elements out.
pub trait Decoder<'i>: Send + Sync {
    /// All that decides what packets to come will tell.
    type Snapshot: PartialEq + Send + Sync + 'static;
    /// It as it is now.
    fn snapshot(&self) -> Self::Snapshot;
    /// The program.
    fn image(&self) -> &'i Image;
    /// The program as far as it ran.
    fn graph_mut(&mut self) -> &mut Graph<'i>;
    /// Memory space of the code that runs now.
    fn space(&self) -> MemorySpace;
    /// The earliest stream position that an element still to come may carry, if it is not that of a packet still to come.
    fn oldest(&self) -> Option<u64> {
        None
    }
    /// Stream position of the last packet.
    fn last_offset(&self) -> Option<u64>;
    /// Stream position from which on nothing could be told, if that is so now: a gap that ends later begins there.
    fn gap_start(&self) -> Option<u64> {
        None
    }
    /// Whether the trace unit overflowed, and tracing has not begun again.
    fn overflowed(&self) -> bool {
        false
    }
    /// What follows begins at stream position `offset`, and ran at this moment.
    fn resume(&mut self, _offset: u64, _moment: Moment) {}
    /// What follows does not continue what came before.
    fn interrupt(&mut self, offset: u64, sink: &mut impl ElementSink);
    /// The stream ends.
    fn finish(&mut self, offset: u64, sink: &mut impl ElementSink);
}

static REGISTERED: RwLock<Vec<&'static dyn Plug>> = RwLock::new(Vec::new());

/// Adds a protocol to those that all captures can have, and that everything here reads.
pub fn register<T: Protocol + input::SourceKind>(protocol: &'static T) {
    input::register(protocol);
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(protocol);
}

/// The protocol that a source speaks, if any of ours.
pub(crate) fn of(source: &input::Source) -> Option<&'static dyn Plug> {
    let built_in: [&'static dyn Plug; 2] = [&Etm, &Etrace];
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    built_in.into_iter().chain(registered.iter().copied()).find(|protocol| protocol.reads(source))
}
