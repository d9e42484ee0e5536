//! A parser and a decoder of any protocol behind one trait object.

use std::any::Any;
use std::fmt::Debug;
use std::ops::ControlFlow;

use tracewright_core::stream::{PacketSink, Run as _};
use tracewright_core::{Exception, MemorySpace};
use tracewright_flow as flow;
use tracewright_image::{Image, Moment};
use tracewright_input as input;

use crate::consumer::WantedBlocks;
use crate::lane::Lane;
use crate::limits::Range;
use crate::packets::{self, PacketStream};
use crate::problem::CannotDecode;
use crate::protocol::{Decoder, Options, Protocol};
use crate::router::{self, Routed, Router};
use crate::sink::{Batch, Counted, Counting, Each, Item, Mode, Summing, Verdict};
use crate::source::Source;
use crate::syntax::{Role, Skips};
use crate::tally::Reason;

/// A protocol behind a trait object.
pub trait Plug: Debug + Sync {
    /// Returns whether it is the protocol of a source.
    fn reads(&self, source: &input::Source) -> bool;
    /// See [`Protocol::WINDOW`].
    fn window(&self) -> usize;
    /// See [`Protocol::output`].
    fn output(&self, jobs: usize) -> usize;
    /// See [`Syntax::NAMES_SOURCES`](crate::Syntax::NAMES_SOURCES).
    fn names_sources(&self) -> bool;
    /// See [`Syntax::source_of`](crate::Syntax::source_of).
    fn message_source(&self, source: &input::Source, bytes: &[u8]) -> Option<u16>;
    /// See [`Syntax::SYNCHRONISATION`](crate::Syntax::SYNCHRONISATION).
    fn synchronisation(&self) -> &'static str;
    /// See [`Protocol::NEEDS_START`].
    fn needs_start(&self) -> bool;
    /// See [`Syntax::opencsd_protocol`](crate::Syntax::opencsd_protocol).
    fn opencsd_protocol(&self, source: &input::Source) -> Option<&'static str>;
    /// See [`Syntax::OPENCSD_SKIPS`](crate::Syntax::OPENCSD_SKIPS).
    fn opencsd_skips(&self) -> Skips;
    /// See [`Syntax::OPENCSD_SKIPPED`](crate::Syntax::OPENCSD_SKIPPED).
    fn opencsd_skipped(&self) -> &'static str;
    /// Returns the name of an exception on the core that a source traces.
    fn exception_name(&self, source: &input::Source, exception: &Exception) -> String;
    /// Creates a reader of packets for one source, or for all sources that share a stream.
    fn packets<'a>(
        &self,
        sources: Vec<Source<'a>>,
        wants: &'a dyn Fn(u16) -> bool,
        options: &'a Options,
    ) -> Box<dyn PacketStream + 'a>;
    /// Creates a parser for several sources that share a stream and have the same parameters, if packets name their source.
    fn router<'a>(
        &self,
        source: &'a input::Source,
        options: &'a Options,
        ids: Vec<u16>,
    ) -> Option<Box<dyn Router + 'a>>;
    /// Creates a source's stream, whose bytes begin at stream position `position`.
    ///
    /// # Errors
    /// Fails if the source cannot be decoded so.
    fn stream<'a>(
        &self,
        source: &'a input::Source,
        options: &'a Options,
        image: &'a Image,
        position: u64,
    ) -> Result<Box<dyn Stream<'a> + 'a>, CannotDecode>;
}

impl<T: Protocol> Plug for T {
    fn reads(&self, source: &input::Source) -> bool {
        T::params(&source.protocol).is_some()
    }

    fn window(&self) -> usize {
        T::WINDOW
    }

    fn output(&self, jobs: usize) -> usize {
        T::output(jobs)
    }

    fn names_sources(&self) -> bool {
        T::NAMES_SOURCES
    }

    fn message_source(&self, source: &input::Source, bytes: &[u8]) -> Option<u16> {
        T::source_of(T::params(&source.protocol)?, bytes)
    }

    fn synchronisation(&self) -> &'static str {
        T::SYNCHRONISATION
    }

    fn needs_start(&self) -> bool {
        T::NEEDS_START
    }

    fn opencsd_protocol(&self, source: &input::Source) -> Option<&'static str> {
        T::opencsd_protocol(T::params(&source.protocol)?)
    }

    fn opencsd_skips(&self) -> Skips {
        T::OPENCSD_SKIPS
    }

    fn opencsd_skipped(&self) -> &'static str {
        T::OPENCSD_SKIPPED
    }

    fn exception_name(&self, source: &input::Source, exception: &Exception) -> String {
        T::params(&source.protocol).map_or_else(String::new, |params| T::exception(params, exception))
    }

    fn packets<'a>(
        &self,
        sources: Vec<Source<'a>>,
        wants: &'a dyn Fn(u16) -> bool,
        options: &'a Options,
    ) -> Box<dyn PacketStream + 'a> {
        packets::stream::<T>(sources, wants, options)
    }

    fn router<'a>(
        &self,
        source: &'a input::Source,
        options: &'a Options,
        ids: Vec<u16>,
    ) -> Option<Box<dyn Router + 'a>> {
        let params = T::params(&source.protocol).filter(|_| T::NAMES_SOURCES)?;
        Some(router::router::<T>(params, options, ids.into_iter()))
    }

    fn stream<'a>(
        &self,
        source: &'a input::Source,
        options: &'a Options,
        image: &'a Image,
        position: u64,
    ) -> Result<Box<dyn Stream<'a> + 'a>, CannotDecode> {
        let params = T::params(&source.protocol).ok_or_else(|| CannotDecode("another protocol".into()))?;
        Ok(Box::new(Of::<T> {
            params,
            options,
            id: source.number().unwrap_or(0),
            parser: T::first(params, options, position),
            decoder: T::decoder(params, options, image)?,
            counted: Counted::default(),
            is_synchronised: !source.needs_synchronisation(),
            items: Vec::new(),
        }))
    }
}

/// State of a stream that a cold segment needs, of the protocol's own type.
pub type Known = Box<dyn Any + Send + Sync>;

/// Takes batches of items.
pub type Deliver<'d> = &'d mut dyn FnMut(&[Item]) -> ControlFlow<()>;

/// What a stream has to report.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub blocks: WantedBlocks,
    pub range: Range,
    /// Whether to report nothing more.
    pub is_stopped: bool,
}

/// Bytes of a window to decode.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub lane: &'a Lane<'a>,
    /// Index of the first byte in the window.
    pub from: usize,
    /// Whether it begins in the middle of the stream. Its output counts from the handover on.
    pub is_cold: bool,
    /// Index of the byte where the next segment begins.
    pub next: Option<usize>,
}

/// Handovers between segments.
#[derive(Default)]
pub struct Handed {
    /// Position and state at which this segment took over, if it was cold.
    pub began: Option<(u64, Known)>,
    /// Stream position at which the next segment took over; `None` if all bytes of the window were decoded.
    pub over: Option<u64>,
}

/// How a stream ended.
pub struct Finished {
    /// Unfinished packet at the end: its position, and number of its bytes.
    pub cut: Option<(u64, usize)>,
    /// Where OpenCSD's listing has the end of the trace.
    pub last: Option<u64>,
}

/// A source's stream: a parser and a decoder.
pub trait Stream<'a>: Send + Sync {
    /// Decodes bytes.
    fn run(&mut self, job: &Job<'_>, wanted: Wanted, deliver: Deliver<'_>) -> Handed;
    /// Ends a part of the stream: what follows does not continue it.
    fn interrupt(&mut self, lane: &Lane<'_>, wanted: Wanted, deliver: Deliver<'_>);
    /// Ends the stream.
    fn finish(&mut self, lane: &Lane<'_>, wanted: Wanted, deliver: Deliver<'_>) -> Finished;
    /// Continues with the first byte of a lane.
    fn begin(&mut self, lane: &Lane<'_>);
    /// Returns the state that cold segments need.
    fn knows(&self) -> Known;
    /// Restarts in the middle. It keeps what it has learnt about the program.
    fn restart(&mut self, knows: &Known, position: u64, moment: Moment);
    /// Continues after the first `upto` bytes of the window, where the segment that begins with byte `from` takes over.
    fn rewind(&mut self, knows: &Known, lane: &Lane<'_>, from: usize, upto: usize);
    /// Returns whether it is in this state.
    fn is_in(&self, state: &Known) -> bool;
    /// Returns where in the next window, `lane`, segments of at least `least` bytes begin.
    fn split(&self, lane: &Lane<'_>, least: usize) -> Vec<usize>;
    /// Returns the memory space of the current code.
    fn space(&self) -> MemorySpace;
    /// Returns the earliest stream position whose place may still be needed.
    fn oldest(&self) -> u64;
    /// Returns the stream position of the last packet.
    fn last_offset(&self) -> Option<u64>;
    /// Returns whether the trace unit has overflowed and tracing has not resumed.
    fn overflowed(&self) -> bool;
    /// Returns whether a synchronisation point was found.
    fn is_synchronised(&self) -> bool;
    /// Sets that the segment before found a synchronisation point.
    fn set_synchronised(&mut self);
    /// Sets whether what was counted since the last call is right.
    fn judge(&mut self, verdict: Verdict);
    /// Takes the counts.
    fn counts(&mut self) -> flow::BlockCounts;
    /// Returns the bytes of the counts.
    fn memory(&mut self) -> usize;
}

/// The stream of a protocol.
struct Of<'a, T: Protocol> {
    params: &'a T::Params,
    options: &'a Options,
    id: u16,
    parser: T::Parser,
    decoder: T::Decoder<'a>,
    counted: Counted,
    is_synchronised: bool,
    items: Vec<Item>,
}

/// Snapshot of a protocol's decoder.
type SnapshotOf<'i, T> = <<T as Protocol>::Decoder<'i> as Decoder<'i>>::Snapshot;

/// Bytes fed at once after the start of the next segment, until it has taken over.
const PIECE: usize = 1 << 10;

/// An operation on a stream with a sink of any kind.
trait With<'a, T: Protocol> {
    type Gives;
    fn run<M: Mode>(self, parser: &mut T::Parser, feed: &mut Feed<'_, 'a, T, M>) -> Self::Gives;
}

impl<'a, T: Protocol> Of<'a, T> {
    /// Runs `what` with a sink of the wanted kind.
    fn with<W: With<'a, T>>(
        &mut self,
        lane: &Lane<'_>,
        wanted: Wanted,
        deliver: Deliver<'_>,
        what: W,
    ) -> W::Gives {
        let Self { id, parser, decoder, counted, is_synchronised, items, .. } = self;
        let batch = Batch::new(items, wanted.is_stopped, deliver);
        match wanted.blocks {
            WantedBlocks::Each => {
                let mut feed = Feed::new(*id, decoder, Each(batch), is_synchronised);
                let gives = what.run(parser, &mut feed);
                feed.sink.0.flush();
                gives
            }
            WantedBlocks::Summed => {
                let sink = Summing { batch, blocks: 0, instructions: 0 };
                let mut feed = Feed::new(*id, decoder, sink, is_synchronised);
                let gives = what.run(parser, &mut feed);
                feed.sink.finish();
                feed.sink.batch.flush();
                gives
            }
            WantedBlocks::Counted => {
                let (space, image) = (decoder.space(), decoder.image());
                let (places, moment, range) = (&lane.places, lane.moment, wanted.range);
                let sink = Counting { batch, counted, space, image, moment, places, cursor: 0, range };
                let mut feed = Feed::new(*id, decoder, sink, is_synchronised);
                let gives = what.run(parser, &mut feed);
                feed.sink.batch.flush();
                gives
            }
        }
    }
}

struct Run<'j, 'l>(&'j Job<'l>);

impl<'a, T: Protocol> With<'a, T> for Run<'_, '_> {
    type Gives = Handed;

    fn run<M: Mode>(self, parser: &mut T::Parser, feed: &mut Feed<'_, 'a, T, M>) -> Handed {
        let Job { lane, from, is_cold, next } = *self.0;
        feed.began = is_cold.then(|| T::handover(lane.start + from as u64));
        if let Some(from) = feed.decoder.gap_start() {
            feed.sink.with(|batch| batch.gap(from));
        }
        let mut at = from;
        for &cut in &lane.cuts {
            let cut_at = (cut - lane.start) as usize;
            T::parse(parser, Some(&lane.bytes[at..cut_at]), feed);
            T::parse(parser, None, feed);
            feed.interrupt(cut);
            at = cut_at;
        }
        let sure = next.unwrap_or(lane.len);
        match lane.routed::<T>(at, sure) {
            Some(packets) => feed.routed(packets),
            None => T::parse(parser, Some(&lane.bytes[at..sure]), feed),
        }
        // Set only now, since a feed that watches takes packets one by one.
        feed.next = next.map(|next| T::handover(lane.start + next as u64));
        match lane.routed::<T>(sure, lane.len) {
            Some(packets) if next.is_some() => feed.routed(packets),
            Some(_) => {}
            None => {
                for piece in lane.bytes[sure..].chunks(PIECE) {
                    if feed.is_done() {
                        break;
                    }
                    T::parse(parser, Some(piece), feed);
                }
            }
        }
        let began = feed.snapshot.take().map(|(at, snapshot)| (at, Box::new(snapshot) as Known));
        Handed { began, over: feed.handed_over }
    }
}

struct Interrupt<'l>(&'l Lane<'l>);

impl<'a, T: Protocol> With<'a, T> for Interrupt<'_> {
    type Gives = ();

    fn run<M: Mode>(self, parser: &mut T::Parser, feed: &mut Feed<'_, 'a, T, M>) {
        feed.end(parser, self.0);
        feed.interrupt(self.0.end());
    }
}

struct Finish<'l>(&'l Lane<'l>);

impl<'a, T: Protocol> With<'a, T> for Finish<'_> {
    type Gives = Finished;

    fn run<M: Mode>(self, parser: &mut T::Parser, feed: &mut Feed<'_, 'a, T, M>) -> Finished {
        feed.end(parser, self.0);
        let last = feed.decoder.end_of_listing();
        feed.decoder.finish(self.0.end(), &mut feed.sink);
        Finished { cut: feed.cut, last }
    }
}

impl<'a, T: Protocol> Stream<'a> for Of<'a, T> {
    fn run(&mut self, job: &Job<'_>, wanted: Wanted, deliver: Deliver<'_>) -> Handed {
        // The counts of a warm segment are right in any case: they need not be added up here.
        if wanted.blocks == WantedBlocks::Counted && job.is_cold {
            self.counted.settle(self.decoder.graph_mut());
        }
        self.with(job.lane, wanted, deliver, Run(job))
    }

    fn interrupt(&mut self, lane: &Lane<'_>, wanted: Wanted, deliver: Deliver<'_>) {
        self.with(lane, wanted, deliver, Interrupt(lane));
    }

    fn finish(&mut self, lane: &Lane<'_>, wanted: Wanted, deliver: Deliver<'_>) -> Finished {
        self.with(lane, wanted, deliver, Finish(lane))
    }

    fn begin(&mut self, lane: &Lane<'_>) {
        self.parser = T::first(self.params, self.options, lane.start);
        self.decoder.resume(lane.start, lane.moment);
    }

    fn knows(&self) -> Known {
        Box::new(T::knows(&self.parser, &self.decoder))
    }

    fn restart(&mut self, knows: &Known, position: u64, moment: Moment) {
        if let Some(knows) = knows.downcast_ref() {
            self.parser = T::parser(self.params, self.options, knows, position);
            T::restart(&mut self.decoder, knows, position);
            self.decoder.resume(position, moment);
        }
        self.is_synchronised = false;
    }

    fn rewind(&mut self, knows: &Known, lane: &Lane<'_>, from: usize, upto: usize) {
        if let (Some(knows), None) = (knows.downcast_ref(), &lane.routed) {
            self.parser = T::rewound(self.params, self.options, knows, &lane.bytes[..upto], from);
        }
    }

    fn is_in(&self, state: &Known) -> bool {
        state.downcast_ref::<SnapshotOf<'a, T>>() == Some(&self.decoder.snapshot())
    }

    fn split(&self, lane: &Lane<'_>, least: usize) -> Vec<usize> {
        let Some(packets) = lane.routed::<T>(0, lane.len) else {
            return T::split(self.params, &self.parser, &lane.bytes, least);
        };
        let mut next = least as u64;
        let syncs = packets.iter().filter(|routed| T::KINDS[T::kind(&routed.packet)].role == Role::Sync);
        let starts = syncs.filter_map(|routed| {
            let at = routed.offset.checked_sub(lane.start).filter(|at| *at >= next)?;
            next = at + least as u64;
            Some(at as usize)
        });
        starts.collect()
    }

    fn space(&self) -> MemorySpace {
        self.decoder.space()
    }

    fn oldest(&self) -> u64 {
        let last = self.decoder.last_offset().unwrap_or(u64::MAX);
        self.decoder.oldest().unwrap_or(u64::MAX).min(last).min(T::unfinished(&self.parser))
    }

    fn last_offset(&self) -> Option<u64> {
        self.decoder.last_offset()
    }

    fn overflowed(&self) -> bool {
        self.decoder.overflowed()
    }

    fn is_synchronised(&self) -> bool {
        self.is_synchronised
    }

    fn set_synchronised(&mut self) {
        self.is_synchronised = true;
    }

    fn judge(&mut self, verdict: Verdict) {
        self.counted.verdict = Some(verdict);
    }

    fn counts(&mut self) -> flow::BlockCounts {
        std::mem::take(&mut self.counted).finish(self.decoder.graph_mut())
    }

    fn memory(&mut self) -> usize {
        self.counted.memory() + self.decoder.graph_mut().memory()
    }
}

/// Passes a parser's packets to the decoder, and watches for handovers.
pub struct Feed<'f, 'i, T: Protocol, M> {
    /// Number of the source in the buffer.
    pub id: u16,
    /// The decoder.
    pub decoder: &'f mut T::Decoder<'i>,
    /// Sink of its elements.
    pub sink: M,
    /// Watch for the handover to this segment, until it happened.
    began: Option<T::Handover>,
    /// Watch for the handover to the next segment.
    next: Option<T::Handover>,
    snapshot: Option<(u64, SnapshotOf<'i, T>)>,
    handed_over: Option<u64>,
    is_synchronised: &'f mut bool,
    /// Unfinished packet at the end: its position, and number of its bytes.
    cut: Option<(u64, usize)>,
}

impl<T: Protocol, M> Debug for Feed<'_, '_, T, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<T: Protocol, M: Mode> PacketSink<T::Packet, T::Run> for Feed<'_, '_, T, M> {
    const RUNS: bool = T::RUNS && M::COUNTS;

    #[inline(always)]
    fn run(&mut self, offset: u64, run: T::Run) {
        if !self.is_watching() {
            return T::run(self, offset, run);
        }
        run.each(offset, |offset, bytes, packet| self.packet(offset, bytes, packet));
    }

    fn skipped(&mut self, offset: u64, bytes: &[u8]) {
        T::skipping(self, offset, bytes);
    }

    #[inline(always)]
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &T::Packet) {
        if !self.is_done() {
            T::packet(self, offset, bytes.len(), packet);
        }
    }
}

impl<'f, 'i, T: Protocol, M: Mode> Feed<'f, 'i, T, M> {
    fn new(id: u16, decoder: &'f mut T::Decoder<'i>, sink: M, is_synchronised: &'f mut bool) -> Self {
        let (began, next, snapshot, handed_over, cut) = (None, None, None, None, None);
        Self { id, decoder, sink, began, next, snapshot, handed_over, is_synchronised, cut }
    }

    /// Takes packets that were parsed for all sources.
    fn routed(&mut self, packets: &[Routed<T>]) {
        for Routed { offset, len, packet, .. } in packets {
            if self.is_done() {
                break;
            }
            T::packet(self, *offset, *len, packet);
        }
    }

    /// Ends the stream.
    fn end(&mut self, parser: &mut T::Parser, lane: &Lane<'_>) {
        match lane.routed::<T>(0, usize::MAX) {
            Some(packets) => self.routed(packets),
            None => T::parse(parser, None, self),
        }
    }

    /// Ends a packet, which goes from stream position `offset` to `end`. `is_now` returns whether this is the point of a handover.
    #[inline(always)]
    pub fn taken(
        &mut self,
        offset: u64,
        end: u64,
        is_now: impl Fn(&mut T::Handover, &T::Decoder<'i>) -> bool,
    ) {
        let gap = self.decoder.gap_start();
        self.sink.with(|batch| {
            batch.packet(offset, end.max(offset + 1) - 1);
            if let Some(from) = gap {
                batch.gap(from);
            }
        });
        if self.began.is_some() || self.next.is_some() {
            self.watch(end, is_now);
        }
    }

    /// Returns whether nothing more is reported: the next segment has taken over, or a limit was reached.
    #[inline(always)]
    pub fn is_done(&self) -> bool {
        // A sink that only counts is stopped between windows.
        self.handed_over.is_some() || !M::COUNTS && self.sink.is_stopped()
    }

    /// Returns whether a handover is near, so that packets must come one by one.
    #[inline(always)]
    pub fn is_watching(&self) -> bool {
        self.began.is_some() || self.next.is_some() || self.handed_over.is_some()
    }

    /// Notes a synchronisation point.
    #[inline(always)]
    pub fn synchronised(&mut self) {
        *self.is_synchronised = true;
    }

    /// Reports a synchronisation packet with an address. Whether images have the address shows whether they are the right ones.
    pub fn synchronised_at(&mut self, offset: u64, address: u64) {
        let is_known = self.decoder.image().lookup(address, MemorySpace::ANY).is_some();
        self.sink.with(|batch| batch.synchronised(offset, address, is_known));
    }

    /// Notes a packet of another source.
    #[cold]
    pub fn stranger(&mut self, id: u16, len: usize) {
        self.sink.with(|batch| batch.stranger(id, len));
    }

    /// Notes that the stream ends in the packet that begins at `offset`, of which `len` bytes are there.
    pub fn cut(&mut self, offset: u64, len: usize) {
        self.cut = Some((offset, len));
    }

    /// Skips bytes from `offset` on while there is no synchronisation; `are_zero` says whether all of them are zero.
    pub fn skip(&mut self, offset: u64, are_zero: bool) {
        self.sink.with(|batch| batch.skipped(offset, are_zero));
    }

    /// Ends the items reported at `position`, where no packet is.
    pub fn taken_at(&mut self, position: u64) {
        self.sink.with(|batch| batch.packet(position, position));
    }

    /// Notes that bytes that are not zero were skipped.
    pub fn passed_over(&mut self) {
        self.sink.with(|batch| batch.push(Item::PassedOver));
    }

    /// Reports bytes at `offset` that are not a packet.
    pub fn malformed(&mut self, offset: u64, why: Reason) {
        self.sink.with(|batch| batch.malformed(offset, why));
    }

    fn interrupt(&mut self, at: u64) {
        self.decoder.interrupt(at, &mut self.sink);
        self.taken_at(at.max(1) - 1);
    }

    fn watch(&mut self, end: u64, is_now: impl Fn(&mut T::Handover, &T::Decoder<'i>) -> bool) {
        if let Some(began) = &mut self.began
            && is_now(began, self.decoder)
        {
            self.began = None;
            self.snapshot = Some((end, self.decoder.snapshot()));
            let space = self.decoder.space();
            self.sink.begin(self.decoder.graph_mut(), space);
        }
        if let Some(next) = &mut self.next
            && is_now(next, self.decoder)
        {
            self.handed_over = Some(end);
        }
    }
}
