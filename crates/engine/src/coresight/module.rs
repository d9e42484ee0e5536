//! What the protocols of CoreSight have in common as protocols of the engine: segments begin at synchronisation packets, the state of
//! the compression is told anew after them, and a buffer's bytes belong to one source.

use std::any::Any;
use std::fmt::Debug;

use tracewright_core::Exception;
use tracewright_core::stream::{Grammar, PacketSink, Parser, Resync, Run};
use tracewright_flow::ElementSink;
use tracewright_image::Image;
use tracewright_input as input;

use crate::line::Line;
use crate::problem::CannotDecode;
use crate::protocol::{self, Options, Protocol};
use crate::sink::Mode;
use crate::stream::Feed;
use crate::syntax::{Halves, Kind, SkippedRun, Skips, Syntax};

/// A protocol of CoreSight as a protocol of the engine.
#[derive(Debug)]
pub struct CoreSight<T>(pub T);

/// What the engine asks of a protocol of CoreSight. The methods are those of [`Syntax`] and [`Protocol`] with the same names.
pub trait Module: Debug + Sized + Sync + 'static {
    type Params: Clone + Sync + 'static;
    type Packet: Clone + PartialEq + Send + Sync + 'static;
    type Run: Run<Self::Packet>;
    type Parser: PacketParser<Params = Self::Params, Packet = Self::Packet, Run = Self::Run>;
    type Decoder<'i>: Decoder<'i, Packet = Self::Packet, Run = Self::Run>;
    type Handover: Handover<Self>;

    const SYNCHRONISATION: &'static str = "A-Sync";
    const KINDS: &'static [Kind];
    const OPENCSD_SKIPS: Skips = Skips::Eights;
    const OPENCSD_SKIPPED: &'static str = "";
    /// Where OpenCSD's packet stage resumes after bytes that are not a packet.
    const OPENCSD_RESUMES: Resync = Resync::NextByte;
    const WINDOW: usize;
    /// Whether the decoder takes rows of packets together where elements are only counted.
    const RUNS: bool = false;

    fn params(protocol: &input::Protocol) -> Option<&Self::Params> {
        match protocol {
            input::Protocol::Registered(params) => (&**params as &dyn Any).downcast_ref(),
            _ => None,
        }
    }

    fn kind(packet: &Self::Packet) -> usize;
    fn mark(packet: &Self::Packet) -> Mark;
    fn reports_loss(packet: &Self::Packet) -> bool;
    fn is_filler(_packet: &Self::Packet) -> bool {
        false
    }

    #[inline(always)]
    fn halves(_packet: &Self::Packet) -> Halves {
        Halves::default()
    }

    fn words(params: &Self::Params, packet: &Self::Packet, line: &mut Line);
    fn fields(params: &Self::Params, packet: &Self::Packet, line: &mut Line);
    fn opencsd_protocol(params: &Self::Params) -> Option<&'static str>;
    fn opencsd(_params: &Self::Params, _packet: &Self::Packet, _line: &mut Line) {}
    fn opencsd_bytes(
        _packet: &Self::Packet,
        index: u64,
        bytes: &[u8],
        _skipped: Option<&SkippedRun>,
        shown: &mut Vec<u8>,
    ) -> u64 {
        shown.extend(bytes);
        index
    }
    fn exception(_params: &Self::Params, exception: &Exception) -> String {
        exception.number.to_string()
    }

    fn decoder<'i>(
        params: &Self::Params,
        options: &Options,
        image: &'i Image,
    ) -> Result<Self::Decoder<'i>, CannotDecode>;
    /// Returns the address of a packet that synchronises execution, if images should have it.
    #[inline(always)]
    fn synchronised_at(_packet: &Self::Packet) -> Option<u64> {
        None
    }
    /// Returns the start of the first synchronisation packet in `bytes`, from index `from` on.
    fn find(bytes: &[u8], from: usize) -> Option<usize>;
    fn handover(start: u64) -> Self::Handover;
}

/// Packets that mark where synchronisation begins and ends.
#[derive(Clone, Copy, Debug)]
pub enum Mark {
    None,
    Sync,
    /// Stands for this number of bytes without synchronisation.
    NotSync(u64),
    Incomplete,
}

/// A parser of a protocol of CoreSight.
pub trait PacketParser: Send + Sync {
    type Params;
    type Packet;
    type Run: Run<Self::Packet>;

    fn starting_at(params: Self::Params, position: u64, resync: Resync) -> Self;
    fn position(&self) -> u64;
    fn unfinished(&self) -> u64;
    fn feed(&mut self, bytes: &[u8], sink: &mut impl PacketSink<Self::Packet, Self::Run>);
    fn finish(&mut self, sink: &mut impl PacketSink<Self::Packet, Self::Run>);
}

impl<G: Grammar<State: Send + Sync> + Send + Sync> PacketParser for Parser<G> {
    type Params = G;
    type Packet = G::Packet;
    type Run = G::Run;

    fn starting_at(params: G, position: u64, resync: Resync) -> Self {
        Self::starting_at(params, position).with_resync(resync)
    }

    fn position(&self) -> u64 {
        self.position()
    }

    fn unfinished(&self) -> u64 {
        self.unfinished()
    }

    #[inline(always)]
    fn feed(&mut self, bytes: &[u8], sink: &mut impl PacketSink<G::Packet, G::Run>) {
        self.feed(bytes, sink);
    }

    fn finish(&mut self, sink: &mut impl PacketSink<G::Packet, G::Run>) {
        self.finish(sink);
    }
}

/// A decoder of a protocol of CoreSight.
pub trait Decoder<'i>: protocol::Decoder<'i> {
    type Packet;
    type Run;

    fn packet(&mut self, offset: u64, packet: &Self::Packet, sink: &mut impl ElementSink);
    fn run(&mut self, offset: u64, run: Self::Run, sink: &mut impl ElementSink);
    fn skipping(&mut self, offset: u64, sink: &mut impl ElementSink);
    fn restart(&mut self, position: u64);
}

/// Watches for the point where a decoder that began at a synchronisation packet knows everything.
pub trait Handover<T: Module> {
    /// Returns whether this is the point, after `decoder` has taken the packet.
    fn is_now(&mut self, offset: u64, packet: &T::Packet, decoder: &T::Decoder<'_>) -> bool;
}

/// Watches for nothing: streams are decoded in order.
#[derive(Debug)]
pub struct Never;

impl<T: Module> Handover<T> for Never {
    fn is_now(&mut self, _: u64, _: &T::Packet, _: &T::Decoder<'_>) -> bool {
        false
    }
}

/// Names the packets of a [`Module`], an enum with kinds and marks, and its parser.
macro_rules! packets {
    ($packet:ident, $kind:ty, $parser:ty, $run:ty) => {
        type Packet = $packet;
        type Parser = $parser;
        type Run = $run;

        const KINDS: &'static [$crate::syntax::Kind] = $crate::syntax::kinds!($kind);

        #[inline(always)]
        fn kind(packet: &$packet) -> usize {
            packet.kind() as usize
        }

        #[inline(always)]
        fn mark(packet: &$packet) -> $crate::coresight::module::Mark {
            use $crate::coresight::module::Mark;
            match *packet {
                $packet::Async => Mark::Sync,
                $packet::NotSync { len } => Mark::NotSync(len),
                $packet::Incomplete { .. } => Mark::Incomplete,
                _ => Mark::None,
            }
        }
    };
}
pub(super) use packets;

/// Implements both traits of decoders by the methods that `$decoder` has under the same names, and `$own` ones of
/// [`protocol::Decoder`].
macro_rules! decoder {
    ($decoder:ty, $packet:ty, $snapshot:ty { $($own:item)* }) => {
        decoder!($decoder, $packet, $snapshot, std::convert::Infallible, |_, _, run, _| match run {}; { $($own)* });
    };
    (
        $decoder:ty, $packet:ty, $snapshot:ty, $run:ty,
        |$decoding:pat_param, $offset:pat_param, $taken:pat_param, $sink:pat_param| $how:expr;
        { $($own:item)* }
    ) => {
        impl<'i> $crate::protocol::Decoder<'i> for $decoder {
            type Snapshot = $snapshot;

            $crate::protocol::same_methods!($decoder, $decoder);

            fn image(&self) -> &'i tracewright_image::Image {
                self.image()
            }

            fn resume(&mut self, offset: u64, moment: tracewright_image::Moment) {
                self.resume(offset, moment);
            }

            $($own)*
        }

        impl<'i> $crate::coresight::module::Decoder<'i> for $decoder {
            type Packet = $packet;
            type Run = $run;

            #[inline(always)]
            fn packet(&mut self, offset: u64, packet: &$packet, sink: &mut impl tracewright_flow::ElementSink) {
                self.packet(offset, packet, sink);
            }

            #[inline(always)]
            fn run(&mut self, offset: u64, run: $run, sink: &mut impl tracewright_flow::ElementSink) {
                let ($decoding, $offset, $taken, $sink) = (self, offset, run, sink);
                $how
            }

            fn skipping(&mut self, offset: u64, sink: &mut impl tracewright_flow::ElementSink) {
                self.skipping(offset, sink);
            }

            fn restart(&mut self, position: u64) {
                self.restart(position);
            }
        }
    };
}
pub(super) use decoder;

impl<T: Module> Syntax for CoreSight<T> {
    type Params = T::Params;
    type Parser = T::Parser;
    type Packet = T::Packet;
    type Run = T::Run;
    type Told = ();

    const SYNCHRONISATION: &'static str = T::SYNCHRONISATION;
    const KINDS: &'static [Kind] = T::KINDS;
    const OPENCSD_SKIPS: Skips = T::OPENCSD_SKIPS;
    const OPENCSD_SKIPPED: &'static str = T::OPENCSD_SKIPPED;

    fn params(protocol: &input::Protocol) -> Option<&T::Params> {
        T::params(protocol)
    }

    fn first(params: &T::Params, options: &Options, position: u64) -> T::Parser {
        let resync = if options.like_opencsd { T::OPENCSD_RESUMES } else { Resync::NextAsync };
        T::Parser::starting_at(params.clone(), position, resync)
    }

    fn unfinished(parser: &T::Parser) -> u64 {
        parser.unfinished()
    }

    #[inline(always)]
    fn parse(parser: &mut T::Parser, bytes: Option<&[u8]>, sink: &mut impl PacketSink<T::Packet, T::Run>) {
        match bytes {
            Some(bytes) => parser.feed(bytes, sink),
            None => parser.finish(sink),
        }
    }

    #[inline(always)]
    fn kind(packet: &T::Packet) -> usize {
        T::kind(packet)
    }

    #[inline(always)]
    fn skipped(packet: &T::Packet) -> u64 {
        if let Mark::NotSync(len) = T::mark(packet) { len } else { 0 }
    }

    #[inline(always)]
    fn reports_loss(packet: &T::Packet) -> bool {
        T::reports_loss(packet)
    }

    #[inline(always)]
    fn is_filler(packet: &T::Packet) -> bool {
        T::is_filler(packet)
    }

    #[inline(always)]
    fn halves(packet: &T::Packet) -> Halves {
        T::halves(packet)
    }

    fn told(_: &T::Params) {}

    fn words(params: &T::Params, (): &(), packet: &T::Packet, line: &mut Line) {
        T::words(params, packet, line);
    }

    fn fields(params: &T::Params, (): &(), packet: &T::Packet, line: &mut Line) {
        T::fields(params, packet, line);
    }

    fn opencsd_protocol(params: &T::Params) -> Option<&'static str> {
        T::opencsd_protocol(params)
    }

    fn opencsd(params: &T::Params, (): &(), packet: &T::Packet, line: &mut Line) {
        T::opencsd(params, packet, line);
    }

    fn opencsd_bytes(
        packet: &T::Packet,
        index: u64,
        bytes: &[u8],
        skipped: Option<&SkippedRun>,
        shown: &mut Vec<u8>,
    ) -> u64 {
        T::opencsd_bytes(packet, index, bytes, skipped, shown)
    }

    fn exception(params: &T::Params, exception: &Exception) -> String {
        T::exception(params, exception)
    }
}

impl<T: Module> Protocol for CoreSight<T> {
    type Decoder<'i> = T::Decoder<'i>;
    /// Where the window begins, as a stream position.
    type Knows = u64;
    type Handover = T::Handover;

    const WINDOW: usize = T::WINDOW;
    const RUNS: bool = T::RUNS;

    fn output(_: usize) -> usize {
        16 << 20
    }

    fn decoder<'i>(
        params: &T::Params,
        options: &Options,
        image: &'i Image,
    ) -> Result<T::Decoder<'i>, CannotDecode> {
        T::decoder(params, options, image)
    }

    fn knows(parser: &T::Parser, _: &T::Decoder<'_>) -> u64 {
        parser.position()
    }

    fn parser(params: &T::Params, options: &Options, _: &u64, position: u64) -> T::Parser {
        Self::first(params, options, position)
    }

    fn restart(decoder: &mut T::Decoder<'_>, _: &u64, position: u64) {
        Decoder::restart(decoder, position);
    }

    fn rewound(params: &T::Params, options: &Options, window: &u64, bytes: &[u8], from: usize) -> T::Parser {
        let mut parser = Self::first(params, options, window + from as u64);
        // What packets are compressed against was told since the segment's synchronisation: the handover has seen to that.
        parser.feed(&bytes[from..], &mut |_: u64, _: &[u8], _: &T::Packet| {});
        parser
    }

    #[inline(always)]
    fn packet<M: Mode>(feed: &mut Feed<'_, '_, Self, M>, offset: u64, len: usize, packet: &T::Packet) {
        feed.decoder.packet(offset, packet, &mut feed.sink);
        let mut end = offset + len as u64;
        match T::mark(packet) {
            Mark::None => {}
            Mark::Sync => feed.synchronised(),
            Mark::NotSync(len) => end = offset + len,
            Mark::Incomplete => feed.cut(offset, len),
        }
        feed.taken(offset, end, |handover, decoder| handover.is_now(offset, packet, decoder));
        if let Some(address) = T::synchronised_at(packet) {
            feed.synchronised_at(offset, address);
        }
    }

    #[inline(always)]
    fn run<M: Mode>(feed: &mut Feed<'_, '_, Self, M>, offset: u64, run: T::Run) {
        feed.decoder.run(offset, run, &mut feed.sink);
    }

    fn skipping<M: Mode>(feed: &mut Feed<'_, '_, Self, M>, offset: u64, bytes: &[u8]) {
        let are_zero = bytes.iter().all(|&byte| byte == 0);
        if !feed.is_done() {
            feed.skip(offset, are_zero);
            feed.decoder.skipping(offset, &mut feed.sink);
            feed.taken_at(offset);
        } else if !are_zero {
            feed.passed_over();
        }
    }

    fn split(_: &T::Params, _: &T::Parser, bytes: &[u8], least: usize) -> Vec<usize> {
        std::iter::successors(T::find(bytes, least), |at| T::find(bytes, at + least)).collect()
    }

    fn handover(start: u64) -> T::Handover {
        T::handover(start)
    }
}
