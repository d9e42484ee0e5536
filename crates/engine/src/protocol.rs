//! The interface of a protocol, and the registered protocols.

use std::sync::{PoisonError, RwLock};

use tracewright_core::MemorySpace;
use tracewright_core::stream::Run as _;
use tracewright_etrace::decode::Handler;
use tracewright_flow::{ElementSink, Graph};
use tracewright_image::{Image, Moment};
use tracewright_input as input;

use crate::coresight::{CoreSight, Etm, Etm3, Itm, Mtb, Ptm, Stm};
use crate::etrace::Etrace;
use crate::ntrace::Ntrace;
use crate::problem::CannotDecode;
use crate::sink::Mode;
use crate::stream::{Feed, Plug};
use crate::syntax::Syntax;
use crate::tacit::Tacit;

/// Options of decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Decodes as OpenCSD's tools do: trusts programs, reports missing code each time, and resumes at the next byte after bytes that
    /// are not a packet.
    pub like_opencsd: bool,
    /// Reports a range of its own for each branch that a source address passes over, as OpenCSD does.
    pub split_source_walks: bool,
    /// Decodes without a program: reports only branch targets.
    pub no_image: bool,
    /// Addresses of trap handlers, where the trace leaves them out. They take precedence over those that the capture names.
    pub handlers: [Option<Handler>; 4],
}

/// A protocol: how its packets are decoded, and where in the middle of a stream that can begin.
///
/// A cold segment begins where [`split`](Self::split) says. After that point comes another at which the cold decoder knows all that
/// the decoder coming from before knows; each of the two finds it with a [`Handover`](Self::Handover) of its own. There their
/// snapshots are compared.
pub trait Protocol: Syntax {
    /// Decoder: packets to elements.
    type Decoder<'i>: Decoder<'i>;
    /// State of a stream that a cold segment needs.
    type Knows: Send + Sync + 'static;
    /// Watches for the point where a segment takes over.
    type Handover;

    /// Fewest bytes of a window for each job. Smaller windows may have no synchronisation point.
    const WINDOW: usize;
    /// Returns the bytes of output that a window should give with `jobs` jobs.
    fn output(jobs: usize) -> usize;

    /// Whether the start of a stream holds something that decoding its middle needs.
    const NEEDS_START: bool = false;

    /// Creates a decoder.
    ///
    /// # Errors
    /// Fails if the source cannot be decoded so.
    fn decoder<'i>(
        params: &Self::Params,
        options: &Options,
        image: &'i Image,
    ) -> Result<Self::Decoder<'i>, CannotDecode>;

    /// Returns the state of the stream at the position of `parser` and `decoder`.
    fn knows(parser: &Self::Parser, decoder: &Self::Decoder<'_>) -> Self::Knows;
    /// Creates a parser for a cold segment that begins at stream position `position`.
    fn parser(params: &Self::Params, options: &Options, knows: &Self::Knows, position: u64) -> Self::Parser;
    /// Resets a decoder for a cold segment. It keeps what it has learnt about the program.
    fn restart(decoder: &mut Self::Decoder<'_>, knows: &Self::Knows, position: u64);
    /// Creates a parser that continues after `bytes`: those of the window up to the point where the segment that begins with
    /// `bytes[from]` takes over.
    fn rewound(
        params: &Self::Params,
        options: &Options,
        knows: &Self::Knows,
        bytes: &[u8],
        from: usize,
    ) -> Self::Parser;
    /// Decodes a packet of `len` bytes that begins at stream position `offset`.
    fn packet<M: Mode>(feed: &mut Feed<'_, '_, Self, M>, offset: u64, len: usize, packet: &Self::Packet);
    /// Whether [`run`](Self::run) decodes rows of packets together where elements are only counted.
    const RUNS: bool = false;
    /// Decodes a row of packets that begins at stream position `offset`.
    fn run<M: Mode>(feed: &mut Feed<'_, '_, Self, M>, offset: u64, run: Self::Run) {
        run.each(offset, |offset, bytes, packet| Self::packet(feed, offset, bytes.len(), packet));
    }
    /// Takes bytes that are skipped from stream position `offset` on. A packet of [`Role::Skipped`](crate::Role::Skipped) follows.
    fn skipping<M: Mode>(_feed: &mut Feed<'_, '_, Self, M>, _offset: u64, _bytes: &[u8]) {}

    /// Returns where in `bytes`, which `parser` takes next, segments of at least `least` bytes begin.
    fn split(params: &Self::Params, parser: &Self::Parser, bytes: &[u8], least: usize) -> Vec<usize>;
    /// Creates a watch for the segment that begins at stream position `start`.
    fn handover(start: u64) -> Self::Handover;
}

/// A decoder: packets in, elements out.
pub trait Decoder<'i>: Send + Sync {
    /// Everything that the elements of later packets depend on.
    type Snapshot: PartialEq + Send + Sync + 'static;
    /// Returns the current snapshot.
    fn snapshot(&self) -> Self::Snapshot;
    /// Returns the program.
    fn image(&self) -> &'i Image;
    /// Returns the graph of the program as far as it ran.
    fn graph_mut(&mut self) -> &mut Graph<'i>;
    /// Returns the memory space of the current code.
    fn space(&self) -> MemorySpace;
    /// Returns the earliest stream position that a later element may carry, if it is not that of a later packet.
    fn oldest(&self) -> Option<u64> {
        None
    }
    /// Returns the stream position of the last packet.
    fn last_offset(&self) -> Option<u64>;
    /// Returns where OpenCSD's listing has the end of the trace: at the last packet, whose position has its top bit set
    /// if the packet begins with the high half of that byte.
    fn end_of_listing(&self) -> Option<u64> {
        self.last_offset()
    }
    /// Returns the stream position where the current gap begins, if there is one.
    fn gap_start(&self) -> Option<u64> {
        None
    }
    /// Returns whether the trace unit has overflowed and tracing has not resumed.
    fn overflowed(&self) -> bool {
        false
    }
    /// Continues at stream position `offset`, with code that ran at `moment`.
    fn resume(&mut self, _offset: u64, _moment: Moment) {}
    /// Ends a part of the stream: what follows does not continue it.
    fn interrupt(&mut self, offset: u64, sink: &mut impl ElementSink);
    /// Ends the stream.
    fn finish(&mut self, offset: u64, sink: &mut impl ElementSink);
}

/// Methods of [`Decoder`] that `$own`, or the decoder `$inner` in it, has under the same names.
macro_rules! same_methods {
    ($own:ty, $inner:ty) => {
        fn snapshot(&self) -> Self::Snapshot {
            <$own>::snapshot(self)
        }

        fn graph_mut(&mut self) -> &mut tracewright_flow::Graph<'i> {
            <$own>::graph_mut(self)
        }

        fn space(&self) -> tracewright_core::MemorySpace {
            <$inner>::space(self)
        }

        fn last_offset(&self) -> Option<u64> {
            <$inner>::last_offset(self)
        }

        #[inline]
        fn gap_start(&self) -> Option<u64> {
            <$inner>::gap_start(self)
        }

        fn interrupt(&mut self, offset: u64, sink: &mut impl tracewright_flow::ElementSink) {
            <$own>::interrupt(self, offset, sink);
        }

        fn finish(&mut self, offset: u64, sink: &mut impl tracewright_flow::ElementSink) {
            <$own>::finish(self, offset, sink);
        }
    };
}
pub(crate) use same_methods;

static REGISTERED: RwLock<Vec<&'static dyn Plug>> = RwLock::new(Vec::new());

/// Registers a protocol. From then on captures can have sources of it, and the engine decodes them.
pub fn register<T: Protocol + input::SourceKind>(protocol: &'static T) {
    input::register(protocol);
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).push(protocol);
}

/// Returns the protocol of a source, if it is registered.
pub(crate) fn of(source: &input::Source) -> Option<&'static dyn Plug> {
    let built_in: [&'static dyn Plug; 9] = [
        &CoreSight(Etm),
        &Etrace,
        &Ntrace,
        &Tacit,
        &CoreSight(Etm3),
        &CoreSight(Ptm),
        &CoreSight(Itm),
        &CoreSight(Stm),
        &CoreSight(Mtb),
    ];
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    built_in.into_iter().chain(registered.iter().copied()).find(|protocol| protocol.reads(source))
}
