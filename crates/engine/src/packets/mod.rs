//! Reads the packets of a capture's buffers.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;

use tracewright_core::TraceId;
use tracewright_frames::{self as frames, Lost, Run};
use tracewright_input::{Buffer, Capture, Packing};

use crate::counts::{Counted, Counts};
use crate::decode::{LEAD, named};
use crate::incoming::{MOST_DAMAGE, Reading, Receive, Sources, interrupts, is_damage};
use crate::joined::Joined;
use crate::lane::{by_id, readable};
use crate::limits::Range;
use crate::line::Line;
use crate::place::{Place, Places};
use crate::problem::{Error, Problem};
use crate::protocol::Options;
use crate::reader::{BufferReader, Progress};
use crate::source::Source;
use crate::syntax::{Halves, Kind, Role, SkippedRun};

mod stream;

pub(crate) use self::stream::{PacketStream, stream};

/// Bytes read at once.
const CHUNK: usize = 1 << 16;
/// Bytes of a source that are gathered before parsing, where the order of sources does not matter.
const GATHER: usize = 1 << 16;

/// A buffer whose packets to read, and how.
#[derive(Clone, Copy)]
pub struct PacketRequest<'a> {
    /// The capture.
    pub capture: &'a Capture,
    /// One of its buffers.
    pub buffer: &'a Buffer,
    /// The trace itself, if it is in memory and not in the buffer's file.
    pub bytes: Option<&'a [u8]>,
    /// Which sources to read, by their numbers in the buffer.
    pub wants: &'a dyn Fn(u16) -> bool,
    /// How to read.
    pub options: &'a Options,
    /// Part of the file: packets that begin inside it are wanted. What lies before it is parsed, too, so that a packet is the same as
    /// without a range.
    pub range: Range,
    /// Called with the number of bytes read since the last call.
    pub progress: Progress<'a>,
}

impl fmt::Debug for PacketRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacketRequest").field("buffer", &self.buffer.name).finish_non_exhaustive()
    }
}

/// A receiver of a buffer's packets, in the order in which they end in the file.
pub trait Visitor {
    /// Called when the buffer has been opened and nothing was read yet.
    fn opened(&mut self) {}
    /// Takes a packet.
    fn packet(&mut self, found: &Found<'_>);
    /// Takes contiguous bytes of a source that were skipped while it was not synchronised.
    fn skipped(&mut self, _source: &Source<'_>, _place: Place, _bytes: &[u8]) {}
    /// Takes a loss: bytes that belong to no source.
    fn lost(&mut self, _lost: &Lost) {}
    /// Called where the bytes that follow do not continue those before, for any source.
    fn reset(&mut self, _offset: u64) {}
    /// Returns whether to stop.
    fn is_done(&self) -> bool {
        false
    }
}

/// A packet, and where it was found.
#[derive(Clone, Copy)]
pub struct Found<'a> {
    /// Its source; `None` if it belongs to none.
    pub source: Option<&'a Source<'a>>,
    /// Its first byte in the file.
    pub place: Place,
    /// Its bytes; empty for skipped bytes.
    pub bytes: &'a [u8],
    /// How it lies in its first and last byte.
    pub halves: Halves,
    /// Number of padding bytes at its beginning.
    pub padding: usize,
    /// Its kind.
    pub kind: &'static Kind,
    /// Whether it carries no information and only keeps the line busy.
    pub is_filler: bool,
    /// The packet itself.
    pub packet: &'a dyn AnyPacket,
}

impl fmt::Debug for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, place, bytes, .. } = self;
        f.debug_struct("Found").field("source", source).field("place", place).field("bytes", bytes).finish()
    }
}

/// A packet of any protocol.
pub trait AnyPacket {
    /// Writes its contents as text.
    fn words(&self, line: &mut Line);
    /// Writes its fields as members of a JSON object, with a comma before each.
    fn fields(&self, line: &mut Line);
    /// Writes what OpenCSD's packet lister writes after its bytes ([`Syntax::opencsd`](crate::Syntax::opencsd)).
    fn opencsd(&self, line: &mut Line);
    /// Appends its bytes as OpenCSD's packet lister shows them ([`Syntax::opencsd_bytes`](crate::Syntax::opencsd_bytes)).
    fn opencsd_bytes(
        &self,
        index: u64,
        bytes: &[u8],
        skipped: Option<&SkippedRun>,
        shown: &mut Vec<u8>,
    ) -> u64;
    /// Returns it as the protocol's own type ([`Syntax::Packet`](crate::Syntax::Packet)).
    fn of_protocol(&self) -> &dyn Any;
}

/// The result of reading a buffer's packets.
#[derive(Clone, Debug, Default)]
pub struct PacketsRead {
    /// Number of bytes read, of those in the range.
    pub bytes: u64,
    /// What is missing.
    pub problems: Vec<Problem>,
    /// Number of packets of wanted sources that report lost trace.
    pub losses: u64,
    /// How often bytes of wanted sources are not a packet.
    pub malformed: u64,
    /// Bytes of sources that no protocol reads, by their numbers in the buffer.
    pub unread: BTreeMap<u16, u64>,
    /// Whether any source has a synchronisation point: if none has, nothing could be read.
    pub is_synchronised: bool,
}

impl PacketRequest<'_> {
    /// Gives the buffer's packets to a visitor.
    ///
    /// # Errors
    /// Fails if the buffer cannot be read.
    pub fn visit(&self, visitor: &mut dyn Visitor) -> Result<PacketsRead, Error> {
        Ok(self.read(visitor, How::InOrder)?.0)
    }

    /// Counts the buffer's packets.
    ///
    /// # Errors
    /// Fails if the buffer cannot be read.
    pub fn count(&self) -> Result<Counted, Error> {
        let mut counted = Counted::default();
        let (read, counts, names_sources) = self.read(&mut counted, How::Count)?;
        for (source, counts) in counts {
            match source {
                Some(source) => counted.sources.push((source, counts)),
                None => counted.no_source = Some(counts),
            }
        }
        (counted.read, counted.names_sources) = (read, names_sources);
        Ok(counted)
    }

    #[expect(clippy::type_complexity, reason = "taken apart at once")]
    fn read(
        &self,
        visitor: &mut dyn Visitor,
        how: How,
    ) -> Result<(PacketsRead, Vec<(Option<usize>, Counts)>, bool), Error> {
        let Self { capture, buffer, .. } = *self;
        let input = match self.bytes {
            Some(bytes) => BufferReader::in_memory(bytes),
            None => BufferReader::open(buffer, &capture.checksums, self.progress)?,
        };
        visitor.opened();
        let mut lanes = Lanes::new(self, visitor, how);
        let is_shared = lanes.is_shared;
        if buffer.sources.is_empty() && !buffer.format.is_framed() {
            let read = PacketsRead { problems: vec![Problem::NoSource], ..PacketsRead::default() };
            return Ok((read, Vec::new(), true));
        }
        let mut reading = Reading::new(input, buffer);
        let mut is_first = true;
        let (mut wanted, mut is_passed) = (0, false);
        while !lanes.visitor.is_done()
            && !is_passed
            && let Some(piece) = reading.next_piece()?
        {
            if !std::mem::replace(&mut is_first, false) {
                frames::FrameSink::reset(&mut lanes, piece.offset);
            }
            is_passed = buffer.ring.is_none() && piece.offset >= self.range.to;
            lanes.begin(piece.offset);
            while !is_passed && reading.chunk(CHUNK, &mut lanes)? && !lanes.visitor.is_done() {
                is_passed = buffer.ring.is_none() && lanes.is_past(reading.at);
            }
            wanted += self.range.bytes(buffer.ring, piece.offset, reading.at);
        }
        lanes.end_streams();
        let mut problems: Vec<_> = reading.take_faults().into_iter().map(Problem::File).collect();
        let (bytes, is_done) = (reading.bytes, lanes.visitor.is_done() || !self.range.is_all());
        let first = lanes.lanes.first().filter(|_| !is_done);
        if let Some((offset, len)) = first.filter(|_| !lanes.is_mapped).and_then(|lane| lane.seen.cut) {
            problems.push(Problem::EndsInside { offset, len });
        }
        if bytes == 0 {
            problems.push(Problem::Empty);
        } else if !buffer.format.is_as_sent() && !lanes.any_frame && !is_done {
            problems.push(Problem::NoFrames { syncs: buffer.format.has_syncs(), bytes });
        } else if first.is_some_and(|lane| is_shared && !lane.seen.any) {
            problems.push(Problem::NoMessages { bytes });
        }
        let is_lost = |lane: &&Lane<'_>| {
            let is_unread = lane.source.of.needs_synchronisation() && !lane.seen.is_synchronised;
            !is_shared && !is_done && is_unread && lane.taken > 0
        };
        for Lane { source, taken, what, .. } in lanes.lanes.iter().filter(is_lost) {
            problems.push(Problem::Unsynchronised { source: named(source), what, bytes: *taken });
        }
        problems.extend(lanes.damage.into_iter().map(Problem::Damage));
        let (mut losses, mut malformed) = (0, 0);
        for seen in lanes.lanes.iter().map(|lane| &lane.seen) {
            (losses, malformed) = (losses + seen.losses, malformed + seen.malformed);
            let strangers = seen.strangers.iter().filter(|(id, _)| (lanes.wants)(**id));
            strangers.for_each(|(id, bytes)| *lanes.unread.entry(*id).or_default() += bytes);
        }
        let bytes = if self.range.is_all() { bytes } else { wanted };
        // Noise may have valid messages, where sources share a stream. Within a range no synchronisation point may be.
        let counts_any = !is_shared || !self.range.is_all();
        let is_read = |seen: &Seen| seen.is_synchronised || seen.any && counts_any;
        let is_synchronised = lanes.lanes.iter().any(|lane| is_read(&lane.seen));
        let read = PacketsRead { bytes, problems, losses, malformed, unread: lanes.unread, is_synchronised };
        let counts = lanes.lanes.into_iter().flat_map(|lane| lane.stream.counts()).collect();
        Ok((read, counts, is_shared))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    InOrder,
    Count,
}

/// The streams of a buffer: one for each source, or one for all sources that share it.
struct Lanes<'r> {
    lanes: Vec<Lane<'r>>,
    /// Lane of each trace ID.
    by_id: [Option<u8>; 0x80],
    /// Whether positions of a stream are not offsets in the file.
    is_mapped: bool,
    /// Whether messages are joined from frames, and the source of the last one.
    is_joined: bool,
    last: Option<TraceId>,
    is_shared: bool,
    how: How,
    /// Whether any frame was read.
    any_frame: bool,
    /// The ID of the buffer's first source.
    first: TraceId,
    /// The same, if the buffer is unframed and no protocol reads the source.
    unreadable: Option<TraceId>,
    wants: &'r dyn Fn(u16) -> bool,
    range: Range,
    visitor: &'r mut dyn Visitor,
    /// Bytes of sources that no protocol reads.
    unread: BTreeMap<u16, u64>,
    /// Damage found by the deframer.
    damage: Vec<Lost>,
}

struct Lane<'a> {
    /// The source, or the first of those that share the stream.
    source: Source<'a>,
    what: &'static str,
    stream: Box<dyn PacketStream + 'a>,
    places: Places,
    range: Range,
    seen: Seen,
    /// Number of bytes received.
    taken: u64,
    /// Bytes received and not yet parsed.
    gathered: Vec<u8>,
}

/// Facts about the part of a stream that was read.
#[derive(Default)]
pub(crate) struct Seen {
    /// Whether there was any valid packet.
    any: bool,
    is_synchronised: bool,
    /// Unfinished packet at the end of the stream: its position, and number of its bytes.
    cut: Option<(u64, usize)>,
    /// Start of the bytes skipped since the last packet.
    skipped_from: Option<Place>,
    /// Number of packets of wanted sources that report lost trace.
    losses: u64,
    /// How often bytes of wanted sources are not a packet.
    malformed: u64,
    /// Bytes of sources that the capture does not describe, by the number that their packets name.
    strangers: BTreeMap<u16, u64>,
}

impl Seen {
    #[inline(always)]
    fn packet(&mut self, role: Role, offset: u64, len: usize) {
        match role {
            Role::Plain => {}
            Role::Sync => self.is_synchronised = true,
            Role::Incomplete => self.cut = Some((offset, len)),
            Role::Malformed | Role::Skipped => return,
        }
        self.any |= role != Role::Incomplete;
    }

    /// Counts what is wrong with a packet of a source.
    #[cold]
    fn fault(&mut self, role: Role, reports_loss: bool) {
        self.malformed += u64::from(role == Role::Malformed);
        self.losses += u64::from(reports_loss);
    }

    #[cold]
    fn stranger(&mut self, id: u16, bytes: usize) {
        *self.strangers.entry(id).or_default() += bytes as u64;
    }
}

impl<'r> Lanes<'r> {
    fn new(request: &PacketRequest<'r>, visitor: &'r mut dyn Visitor, how: How) -> Self {
        let PacketRequest { capture, buffer, wants, options, range, .. } = *request;
        let is_mapped = !buffer.format.is_as_sent();
        let sources: Vec<_> = buffer.sources.iter().map(|&index| Source::new(capture, index)).collect();
        let first = sources.first().and_then(|source| source.of.id()).unwrap_or(TraceId::NULL);
        let shared = sources.iter().find_map(|source| source.plug().filter(|plug| plug.names_sources()));
        let shared = shared.filter(|_| !is_mapped);
        let unreadable = sources.first().filter(|source| !is_mapped && source.plug().is_none());
        let unreadable = unreadable.map(|_| first);
        let streams: Vec<(_, Vec<_>)> = match shared {
            Some(plug) => vec![(plug, sources.into_iter().filter(|source| plug.reads(source.of)).collect())],
            None => {
                let sources = readable(capture, buffer, wants).into_iter();
                sources.map(|(source, plug)| (plug, vec![source])).collect()
            }
        };
        let by_id = by_id(&streams.iter().map(|(_, all)| all[0].id).collect::<Vec<_>>());
        let lanes = streams.into_iter().map(|(plug, all)| Lane {
            source: all[0],
            what: plug.synchronisation(),
            stream: plug.packets(all, wants, options),
            // Counting all needs no places.
            places: match how {
                How::Count if range.is_all() => Places::Same,
                _ => Places::new(buffer),
            },
            range,
            seen: Seen::default(),
            taken: 0,
            gathered: Vec::new(),
        });
        let lanes = lanes.collect();
        let (is_shared, any_frame) = (shared.is_some(), false);
        let (unread, damage) = (BTreeMap::new(), Vec::new());
        Self {
            lanes,
            by_id,
            is_mapped,
            is_joined: buffer.format == Packing::CoreSightNexus,
            last: None,
            is_shared,
            how,
            any_frame,
            first,
            unreadable,
            wants,
            range,
            visitor,
            unread,
            damage,
        }
    }

    /// Returns whether every packet that begins in the range has been read, where the file has been read up to `at`.
    fn is_past(&self, at: u64) -> bool {
        let is_done = |lane: &Lane<'_>| {
            let unfinished = lane.places.of(lane.stream.unfinished(), &mut 0);
            unfinished.is_none_or(|place| place.offset >= self.range.to)
        };
        // What belongs to no source is told where it ends.
        at >= self.range.to.saturating_add(LEAD) && self.lanes.iter().all(is_done)
    }

    /// Starts a piece of the file at `offset`.
    fn begin(&mut self, offset: u64) {
        // Positions of a stream in frames, or of a serial line, continue.
        for lane in self.lanes.iter_mut().filter(|_| !self.is_mapped) {
            lane.stream.begin(offset);
            lane.seen.cut = None;
        }
        for lane in self.lanes.iter_mut().filter(|_| self.is_joined) {
            lane.stream.begin(lane.taken);
        }
    }

    fn end_streams(&mut self) {
        for lane in &mut self.lanes {
            lane.flush(self.how, self.visitor);
            lane.parse(None, self.how, self.visitor);
        }
    }
}

impl Lane<'_> {
    fn parse(&mut self, bytes: Option<&[u8]>, how: How, visitor: &mut dyn Visitor) {
        let Self { stream, places, range, seen, .. } = self;
        self.taken += bytes.map_or(0, <[u8]>::len) as u64;
        match how {
            How::Count if range.is_all() => stream.count(bytes, seen),
            How::Count => stream.count_in(bytes, places, *range, seen),
            How::InOrder => stream.visit(bytes, places, *range, seen, visitor),
        }
        places.forget_before(stream.unfinished());
    }

    /// Parses the gathered bytes.
    fn flush(&mut self, how: How, visitor: &mut dyn Visitor) {
        let mut gathered = std::mem::take(&mut self.gathered);
        self.parse(Some(&gathered), how, visitor);
        gathered.clear();
        self.gathered = gathered;
    }
}

impl Receive for Lanes<'_> {
    fn first(&self) -> TraceId {
        self.first
    }

    fn message(&mut self, joined: &Joined) {
        let sources = self.lanes.first().and_then(|lane| Some((lane.source.plug()?, lane.source.of)));
        let id = sources.and_then(|(plug, of)| Sources { plug, of }.id(&joined.bytes));
        // What belongs to none goes where the message before went.
        self.last = id.or(self.last);
        let id = self.last.or(self.lanes.first().and_then(|lane| lane.source.of.id()));
        for (run, bytes) in joined.parts() {
            let id = id.unwrap_or(run.id);
            frames::FrameSink::data(self, Run { id, ..run }, bytes);
        }
    }

    fn unframed(&mut self, bytes: &[u8]) {
        match (self.lanes.first_mut(), self.unreadable) {
            (Some(lane), _) => lane.parse(Some(bytes), self.how, self.visitor),
            (None, Some(id)) if (self.wants)(id.get().into()) => {
                *self.unread.entry(id.get().into()).or_default() += bytes.len() as u64;
            }
            (None, _) => {}
        }
    }
}

impl frames::FrameSink for Lanes<'_> {
    fn data(&mut self, run: Run, bytes: &[u8]) {
        self.any_frame = true;
        let Some(lane) = self.by_id[usize::from(run.id.get()) & 0x7f] else {
            if (self.wants)(run.id.get().into()) && self.range.has(run.offset) {
                *self.unread.entry(run.id.get().into()).or_default() += bytes.len() as u64;
            }
            return;
        };
        let lane = &mut self.lanes[usize::from(lane)];
        if let Places::Frames { map, .. } = &mut lane.places {
            map.push(run, bytes.len() as u64);
            return lane.parse(Some(bytes), self.how, self.visitor);
        }
        lane.gathered.extend_from_slice(bytes);
        if lane.gathered.len() >= GATHER {
            lane.flush(self.how, self.visitor);
        }
    }

    fn lost(&mut self, lost: Lost) {
        if self.range.has(lost.offset) {
            self.visitor.lost(&lost);
            if is_damage(&lost) && self.damage.len() < MOST_DAMAGE {
                self.damage.push(lost);
            }
        }
        if interrupts(&lost) {
            self.end_streams();
        }
    }

    fn reset(&mut self, offset: u64) {
        self.end_streams();
        if self.range.has(offset) {
            self.visitor.reset(offset);
        }
    }
}
