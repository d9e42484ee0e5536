//! Reads the packets of a stream, of any protocol, behind one trait object.

use std::any::Any;

use tracewright_core::stream::PacketSink;

use super::{AnyPacket, Found, Seen, Visitor};
use crate::counts::Counts;
use crate::limits::Range;
use crate::line::Line;
use crate::place::Places;
use crate::protocol::Options;
use crate::source::Source;
use crate::syntax::{Role, SkippedRun, Syntax};

/// A parser of a stream of any protocol.
pub(crate) trait PacketStream {
    /// Begins anew: the bytes that follow start at this stream position, and do not continue those before.
    fn begin(&mut self, position: u64);
    /// Gives packets to a visitor; `None` ends the stream.
    fn visit(
        &mut self,
        bytes: Option<&[u8]>,
        places: &Places,
        range: Range,
        seen: &mut Seen,
        visitor: &mut dyn Visitor,
    );
    /// Counts packets; `None` ends the stream.
    fn count(&mut self, bytes: Option<&[u8]>, seen: &mut Seen);
    /// Counts packets that begin in a range; `None` ends the stream.
    fn count_in(&mut self, bytes: Option<&[u8]>, places: &Places, range: Range, seen: &mut Seen);
    /// See [`Syntax::unfinished`].
    fn unfinished(&self) -> u64;
    /// Returns the counts by source.
    fn counts(self: Box<Self>) -> Vec<(Option<usize>, Counts)>;
}

/// Returns a stream of these sources.
pub(crate) fn stream<'a, T: Syntax>(
    sources: Vec<Source<'a>>,
    wants: &'a dyn Fn(u16) -> bool,
    options: &'a Options,
) -> Box<dyn PacketStream + 'a> {
    let of = |source: Source<'a>| {
        let params = T::params(&source.of.protocol)?;
        let (told, counts) = (T::told(params), Counts::new::<T>());
        Some(OfSource { source, params, told, is_wanted: wants(source.id), counts })
    };
    let sources: Vec<_> = sources.into_iter().filter_map(of).collect();
    // Sources that share a stream have the same parameters: the capture's reader has checked that.
    let parser = T::first(sources[0].params, options, 0);
    Box::new(StreamOf::<T> { parser, options, known: Known { sources, no_source: Counts::new::<T>() } })
}

/// A parser of a known protocol.
struct StreamOf<'a, T: Syntax> {
    parser: T::Parser,
    options: &'a Options,
    known: Known<'a, T>,
}

struct Known<'a, T: Syntax> {
    /// Sources of the stream, one at least.
    sources: Vec<OfSource<'a, T>>,
    no_source: Counts,
}

struct OfSource<'a, T: Syntax> {
    source: Source<'a>,
    params: &'a T::Params,
    told: T::Told,
    is_wanted: bool,
    counts: Counts,
}

/// Source that a packet belongs to.
enum Whose {
    Source(usize),
    Nobody,
    Stranger(u16),
}

impl<T: Syntax> Known<'_, T> {
    #[inline(always)]
    fn whose(&self, packet: &T::Packet) -> Whose {
        if !T::NAMES_SOURCES {
            return Whose::Source(0);
        }
        let Some(id) = T::source(packet) else { return Whose::Nobody };
        let index = self.sources.iter().position(|source| source.source.id == id);
        index.map_or(Whose::Stranger(id), Whose::Source)
    }
}

impl<T: Syntax> PacketStream for StreamOf<'_, T> {
    fn begin(&mut self, position: u64) {
        self.parser = T::first(self.known.sources[0].params, self.options, position);
    }

    fn visit(
        &mut self,
        bytes: Option<&[u8]>,
        places: &Places,
        range: Range,
        seen: &mut Seen,
        visitor: &mut dyn Visitor,
    ) {
        let Self { parser, known, .. } = self;
        T::parse(parser, bytes, &mut Visiting { known, places, cursor: 0, range, seen, visitor });
    }

    fn count(&mut self, bytes: Option<&[u8]>, seen: &mut Seen) {
        let Self { parser, known, .. } = self;
        T::parse(parser, bytes, &mut Counting { known, seen });
    }

    fn count_in(&mut self, bytes: Option<&[u8]>, places: &Places, range: Range, seen: &mut Seen) {
        let Self { parser, known, .. } = self;
        let counting = Counting { known, seen };
        T::parse(parser, bytes, &mut CountingIn { counting, places, cursor: 0, range });
    }

    fn unfinished(&self) -> u64 {
        T::unfinished(&self.parser)
    }

    fn counts(self: Box<Self>) -> Vec<(Option<usize>, Counts)> {
        let sources = self.known.sources.into_iter().map(|of| (Some(of.source.index), of.counts));
        sources.chain(T::NAMES_SOURCES.then_some((None, self.known.no_source))).collect()
    }
}

struct Counting<'s, 'a, T: Syntax> {
    known: &'s mut Known<'a, T>,
    seen: &'s mut Seen,
}

impl<T: Syntax> PacketSink<T::Packet, T::Run> for Counting<'_, '_, T> {
    // Inlined into the parser's loop, where each call knows its kind of packet.
    #[inline(always)]
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &T::Packet) {
        let role = T::KINDS[T::kind(packet)].role;
        self.seen.packet(role, offset, bytes.len());
        let (counts, is_wanted) = match self.known.whose(packet) {
            Whose::Source(index) => {
                let of = &mut self.known.sources[index];
                (&mut of.counts, of.is_wanted)
            }
            Whose::Nobody => (&mut self.known.no_source, true),
            Whose::Stranger(id) => return self.seen.stranger(id, bytes.len()),
        };
        let reports_loss = T::reports_loss(packet);
        if is_wanted & (reports_loss | (role == Role::Malformed)) {
            self.seen.fault(role, reports_loss);
        }
        counts.add::<T>(offset, bytes, packet);
    }
}

/// Counts packets that begin in a range.
struct CountingIn<'s, 'a, T: Syntax> {
    counting: Counting<'s, 'a, T>,
    places: &'s Places,
    cursor: usize,
    range: Range,
}

impl<T: Syntax> PacketSink<T::Packet, T::Run> for CountingIn<'_, '_, T> {
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &T::Packet) {
        let role = T::KINDS[T::kind(packet)].role;
        let skipped_from = self.counting.seen.skipped_from.take().filter(|_| role == Role::Skipped);
        let place = skipped_from.or_else(|| self.places.of(offset, &mut self.cursor));
        if place.is_some_and(|place| self.range.has(place.offset)) {
            self.counting.packet(offset, bytes, packet);
        }
    }

    fn skipped(&mut self, position: u64, _: &[u8]) {
        if self.counting.seen.skipped_from.is_none() {
            self.counting.seen.skipped_from = self.places.of(position, &mut self.cursor);
        }
    }
}

struct Visiting<'s, 'a, T: Syntax> {
    known: &'s mut Known<'a, T>,
    places: &'s Places,
    cursor: usize,
    range: Range,
    seen: &'s mut Seen,
    visitor: &'s mut dyn Visitor,
}

impl<T: Syntax> PacketSink<T::Packet, T::Run> for Visiting<'_, '_, T> {
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &T::Packet) {
        let kind = &T::KINDS[T::kind(packet)];
        self.seen.packet(kind.role, offset, bytes.len());
        // Skipped bytes may have begun gigabytes ago; `places` does not go back that far.
        let skipped_from = self.seen.skipped_from.take().filter(|_| kind.role == Role::Skipped);
        let place = skipped_from.or_else(|| self.places.of(offset, &mut self.cursor));
        debug_assert!(place.is_some(), "no place for a packet at {offset}");
        let Some(place) = place else { return };
        let is_inside = self.range.has(place.offset);
        let (source, of) = match self.known.whose(packet) {
            Whose::Source(index) => {
                let of = &mut self.known.sources[index];
                if !of.is_wanted {
                    return;
                }
                T::tell(&mut of.told, packet);
                (Some(&of.source), &*of)
            }
            Whose::Nobody => (None, &self.known.sources[0]),
            Whose::Stranger(id) if is_inside => return self.seen.stranger(id, bytes.len()),
            Whose::Stranger(_) => return,
        };
        if !is_inside {
            return;
        }
        self.seen.fault(kind.role, T::reports_loss(packet));
        let (padding, is_filler, halves) = (T::padding(bytes), T::is_filler(packet), T::halves(packet));
        let packet = &PacketOf::<T> { params: of.params, told: &of.told, packet };
        self.visitor.packet(&Found { source, place, bytes, halves, padding, kind, is_filler, packet });
    }

    fn skipped(&mut self, mut position: u64, mut bytes: &[u8]) {
        while let Some((place, side_by_side)) = self.places.neighbours(position, &mut self.cursor) {
            self.seen.skipped_from.get_or_insert(place);
            // Zeros may have been held back over several runs, which are taken one by one.
            let is_one = bytes.first() == Some(&0) && matches!(self.places, Places::Frames { .. });
            let len = if is_one { 1 } else { side_by_side };
            let (now, later) = bytes.split_at(len.min(bytes.len()));
            if self.range.has(place.offset) {
                self.visitor.skipped(&self.known.sources[0].source, place, now);
            }
            position += now.len() as u64;
            bytes = later;
            if bytes.is_empty() {
                return;
            }
        }
    }
}

/// A packet of a known protocol.
struct PacketOf<'a, T: Syntax> {
    params: &'a T::Params,
    told: &'a T::Told,
    packet: &'a T::Packet,
}

impl<T: Syntax> AnyPacket for PacketOf<'_, T> {
    fn words(&self, line: &mut Line) {
        T::words(self.params, self.told, self.packet, line);
    }

    fn fields(&self, line: &mut Line) {
        T::fields(self.params, self.told, self.packet, line);
    }

    fn opencsd(&self, line: &mut Line) {
        T::opencsd(self.params, self.told, self.packet, line);
    }

    fn opencsd_bytes(
        &self,
        index: u64,
        bytes: &[u8],
        skipped: Option<&SkippedRun>,
        shown: &mut Vec<u8>,
    ) -> u64 {
        T::opencsd_bytes(self.packet, index, bytes, skipped, shown)
    }

    fn of_protocol(&self) -> &dyn Any {
        self.packet
    }
}
