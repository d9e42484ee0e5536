//! From a capture's buffers to packets.

use tracewright_core::TraceId;
use tracewright_engine::{BufferReader, Place};
use tracewright_etm::packet::{Packet, Parser, Resync, Sink};
use tracewright_frames::{Deframer, DstreamBlocks, Format, Lost, LostReason, OffsetMap, Run};
use tracewright_input::{Buffer, BufferFormat, Capture, Protocol};

use crate::output::{Error, report};

/// Bytes gathered of a source before they are parsed, where order does not matter.
const GATHER: usize = 1 << 16;

/// What takes a buffer's packets, in the order in which they end in the file.
pub trait Visitor {
    /// A packet, which ends here.
    fn packet(&mut self, found: &Found<'_>);
    /// Bytes of `source` passed over while it is not synchronised, neighbours in the file.
    fn skipped(&mut self, _source: &SourceId<'_>, _place: Place, _bytes: &[u8]) {}
    /// Bytes that could be given to no source.
    fn lost(&mut self, _lost: &Lost) {}
    /// What follows does not continue what came before, for any source.
    fn reset(&mut self, _offset: u64) {}
    /// Bytes of a source that nothing here can read.
    fn unread(&mut self, _id: TraceId, _len: u64) {}
    /// Whether to stop: nobody is interested in more.
    fn is_done(&self) -> bool {
        false
    }
}

/// A packet, and where it was found.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// Whose it is.
    pub source: &'a SourceId<'a>,
    /// Where it began.
    pub place: Place,
    /// Its bytes; none for bytes passed over.
    pub bytes: &'a [u8],
    /// What they say.
    pub packet: &'a Packet,
}

/// A source within a buffer.
#[derive(Debug)]
pub struct SourceId<'a> {
    /// Its index in the capture.
    pub index: usize,
    /// Its trace ID.
    pub id: TraceId,
    /// Whether the buffer has frames, in which its bytes carry the ID.
    pub framed: bool,
    /// Its parameters.
    pub params: &'a tracewright_etm::Params,
}

/// How to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What to do after bytes that are no packet.
    pub resync: Resync,
    /// Whether to say nothing of what nothing could be made of.
    pub quiet: bool,
    /// Packets of different sources may come out of file order and with places that are positions in the source's stream:
    /// faster, since each source's bytes are gathered before they are parsed.
    pub unordered: bool,
}

/// What reading a buffer came to.
#[derive(Debug)]
pub struct Summary {
    /// Bytes read.
    pub bytes: u64,
    /// Reasons why nothing could be made of the buffer or of a source, already reported.
    pub failures: u64,
}

/// Reads all of a buffer from `input`, its file, and reports what it could make nothing of.
pub fn read(
    capture: &Capture,
    buffer: &Buffer,
    mut input: BufferReader<'_>,
    options: Options,
    wants: &dyn Fn(TraceId) -> bool,
    visitor: &mut impl Visitor,
) -> Result<Summary, Error> {
    let mut lanes = Lanes::new(capture, buffer, options, wants, visitor);
    let format = match buffer.format {
        BufferFormat::SourceData | BufferFormat::Etrace => None,
        BufferFormat::CoreSight => Some(Format::Aligned),
        BufferFormat::CoreSightFsync | BufferFormat::DstreamCoreSight => Some(Format::Fsync),
        BufferFormat::CoreSightHsync => Some(Format::FsyncHsync),
    };
    let mut bytes = 0;
    let mut is_first = true;
    while let Some(piece) = input.next_piece()? {
        if !std::mem::replace(&mut is_first, false) {
            tracewright_frames::Sink::reset(&mut lanes, piece.offset);
        }
        let Some(format) = format else {
            lanes.begin(piece.offset, options);
            bytes += input.for_each_chunk(|chunk| {
                lanes.unframed(chunk);
                !lanes.visitor.is_done()
            })?;
            continue;
        };
        let mut deframer = Deframer::starting_at(format, piece.offset);
        let mut blocks = (buffer.format == BufferFormat::DstreamCoreSight).then(DstreamBlocks::new);
        bytes += input.for_each_chunk(|chunk| {
            match &mut blocks {
                Some(blocks) => blocks.feed(chunk, &mut deframer, &mut lanes),
                None => deframer.feed(chunk, &mut lanes),
            }
            !lanes.visitor.is_done()
        })?;
        deframer.finish(&mut lanes);
    }
    let faults = input.take_faults().iter().map(ToString::to_string).collect();
    Ok(lanes.finish(capture, buffer, bytes, faults))
}

/// The sources of one buffer, each with its parser.
struct Lanes<'a, V> {
    lanes: Vec<Lane<'a>>,
    /// By trace ID: which lane.
    by_id: [Option<u8>; 0x80],
    framed: bool,
    dstream: bool,
    unordered: bool,
    quiet: bool,
    /// Whether any frame was read.
    any_frame: bool,
    /// The ID of an unframed buffer's source, if nothing here can read it.
    unreadable: Option<TraceId>,
    wants: &'a dyn Fn(TraceId) -> bool,
    visitor: &'a mut V,
}

struct Lane<'a> {
    source: SourceId<'a>,
    parser: Parser,
    offsets: OffsetMap,
    /// Bytes not yet parsed.
    gathered: Vec<u8>,
    /// Where the bytes passed over since the last packet began.
    skipped_from: Option<Place>,
    /// Whether an A-Sync was found.
    synchronised: bool,
    /// Where the parser began, and how many bytes parsers before it have taken.
    began: u64,
    earlier: u64,
}

impl<'a, V: Visitor> Lanes<'a, V> {
    fn new(
        capture: &'a Capture,
        buffer: &Buffer,
        options: Options,
        wants: &'a dyn Fn(TraceId) -> bool,
        visitor: &'a mut V,
    ) -> Self {
        let framed = buffer.format != BufferFormat::SourceData;
        let mut lanes = Self {
            lanes: Vec::new(),
            by_id: [None; 0x80],
            framed,
            dstream: buffer.format == BufferFormat::DstreamCoreSight,
            unordered: options.unordered,
            quiet: options.quiet,
            any_frame: false,
            unreadable: None,
            wants,
            visitor,
        };
        // An unframed buffer holds a single source's bytes: the first one's.
        for &index in buffer.sources.iter().take(if framed { usize::MAX } else { 1 }) {
            let source = &capture.sources[index];
            let Protocol::Etm(params) = &source.protocol else {
                lanes.unreadable = Some(source.id().unwrap_or(TraceId::NULL));
                continue;
            };
            let id = params.id();
            if wants(id) && lanes.by_id[usize::from(id.get())].is_none() {
                lanes.by_id[usize::from(id.get())] = Some(lanes.lanes.len() as u8);
                lanes.lanes.push(Lane {
                    source: SourceId { index, id, framed, params },
                    parser: Parser::new((**params).clone()).with_resync(options.resync),
                    offsets: OffsetMap::new(),
                    gathered: Vec::new(),
                    skipped_from: None,
                    synchronised: false,
                    began: 0,
                    earlier: 0,
                });
            }
        }
        lanes
    }

    /// Bytes without frames that come next are from this file offset on.
    fn begin(&mut self, offset: u64, options: Options) {
        for lane in &mut self.lanes {
            lane.earlier = lane.taken();
            lane.began = offset;
            let params = lane.source.params.clone();
            lane.parser = Parser::starting_at(params, offset).with_resync(options.resync);
        }
    }

    fn unframed(&mut self, bytes: &[u8]) {
        match (self.lanes.first_mut(), self.unreadable) {
            (Some(lane), _) => {
                let (parser, mut sink) = lane.unframed(self.visitor);
                parser.feed(bytes, &mut sink);
            }
            (None, Some(id)) => self.visitor.unread(id, bytes.len() as u64),
            (None, None) => {}
        }
    }

    /// Ends all streams.
    fn end_streams(&mut self) {
        for lane in &mut self.lanes {
            lane.parse_gathered(self.visitor);
            if self.framed && !self.unordered {
                let (parser, mut sink) = lane.framed(self.dstream, self.visitor);
                parser.finish(&mut sink);
            } else {
                let (parser, mut sink) = lane.unframed(self.visitor);
                parser.finish(&mut sink);
            }
        }
    }

    /// Ends all streams and says what nothing could be made of.
    fn finish(
        mut self,
        capture: &Capture,
        buffer: &Buffer,
        bytes: u64,
        mut failures: Vec<String>,
    ) -> Summary {
        self.end_streams();
        if bytes == 0 {
            failures.push("is empty".to_owned());
        } else if self.framed && !self.any_frame && !self.visitor.is_done() {
            failures.push(match buffer.format {
                BufferFormat::CoreSight => "holds no data of any source".to_owned(),
                _ => format!(
                    "no frame sync in {bytes} bytes: are these memory-aligned frames (--packing coresight)?"
                ),
            });
        }
        for lane in self.lanes.iter().filter(|lane| !lane.synchronised && lane.taken() > 0) {
            let (name, bytes) = (&capture.sources[lane.source.index].name, lane.taken());
            failures.push(format!(
                "{name} (ID {}): no A-Sync in {bytes} bytes, nothing could be read",
                lane.source.id
            ));
        }
        for failure in failures.iter().filter(|_| !self.quiet) {
            report(&format!("{}: {failure}", buffer.name));
        }
        Summary { bytes, failures: failures.len() as u64 }
    }
}

impl<'a> Lane<'a> {
    /// How many bytes were parsed.
    fn taken(&self) -> u64 {
        self.earlier + self.parser.position().saturating_sub(self.began)
    }

    /// The parser, and a sink for it that knows places in a framed file.
    fn framed<'l, V: Visitor>(
        &'l mut self,
        dstream: bool,
        visitor: &'l mut V,
    ) -> (&'l mut Parser, Framed<'l, 'a, V>) {
        let Self { source, parser, offsets, skipped_from, synchronised, .. } = self;
        (parser, Framed { source, offsets, skipped_from, synchronised, dstream, visitor })
    }

    /// The parser, and a sink for it that takes stream positions for places.
    fn unframed<'l, V: Visitor>(&'l mut self, visitor: &'l mut V) -> (&'l mut Parser, Unframed<'l, 'a, V>) {
        let Self { source, parser, synchronised, .. } = self;
        (parser, Unframed { source, synchronised, visitor })
    }

    fn parse_gathered<V: Visitor>(&mut self, visitor: &mut V) {
        let gathered = std::mem::take(&mut self.gathered);
        let (parser, mut sink) = self.unframed(visitor);
        parser.feed(&gathered, &mut sink);
        self.gathered = gathered;
        self.gathered.clear();
    }
}

impl<V: Visitor> tracewright_frames::Sink for Lanes<'_, V> {
    fn data(&mut self, run: Run, bytes: &[u8]) {
        self.any_frame = true;
        let Some(lane) = self.by_id[usize::from(run.id.get()) & 0x7f] else {
            if (self.wants)(run.id) {
                self.visitor.unread(run.id, bytes.len() as u64);
            }
            return;
        };
        let lane = &mut self.lanes[usize::from(lane)];
        if self.unordered {
            lane.gathered.extend_from_slice(bytes);
            if lane.gathered.len() >= GATHER {
                lane.parse_gathered(self.visitor);
            }
            return;
        }
        lane.offsets.push(run, bytes.len() as u64);
        let (parser, mut sink) = lane.framed(self.dstream, self.visitor);
        parser.feed(bytes, &mut sink);
        lane.offsets.forget_before(lane.parser.unfinished());
    }

    fn lost(&mut self, lost: Lost) {
        self.visitor.lost(&lost);
        // Bytes of any source may be among those lost inside the stream: a packet that straddles the hole would be
        // made of bytes that do not belong together.
        if matches!(lost.reason, LostReason::ReservedId | LostReason::CutFrame | LostReason::StraySync) {
            self.end_streams();
        }
    }

    fn reset(&mut self, offset: u64) {
        self.end_streams();
        self.visitor.reset(offset);
    }
}

/// Packets of a buffer without frames: stream positions are file offsets.
struct Unframed<'l, 'a, V> {
    source: &'l SourceId<'a>,
    synchronised: &'l mut bool,
    visitor: &'l mut V,
}

impl<V: Visitor> Sink for Unframed<'_, '_, V> {
    #[inline(always)]
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        *self.synchronised |= *packet == Packet::Async;
        let place = Place { offset, opencsd_index: offset };
        self.visitor.packet(&Found { source: self.source, place, bytes, packet });
    }

    fn skipped(&mut self, offset: u64, bytes: &[u8]) {
        self.visitor.skipped(self.source, Place { offset, opencsd_index: offset }, bytes);
    }
}

/// Packets of a buffer with frames: stream positions go through the map.
struct Framed<'l, 'a, V> {
    source: &'l SourceId<'a>,
    offsets: &'l mut OffsetMap,
    skipped_from: &'l mut Option<Place>,
    synchronised: &'l mut bool,
    dstream: bool,
    visitor: &'l mut V,
}

impl<V> Framed<'_, '_, V> {
    /// The place of a position, and how many positions from there on lie side by side in one frame at least.
    fn place(&mut self, position: u64) -> Option<(Place, usize)> {
        let run = self.offsets.run_at(position)?;
        let counted = if self.dstream { DstreamBlocks::payload_offset(run.offset) } else { run.offset };
        let opencsd_index = counted.saturating_sub(run.slip.into());
        Some((Place { offset: run.offset, opencsd_index }, 15usize.saturating_sub(run.lane.into()).max(1)))
    }
}

impl<V: Visitor> Sink for Framed<'_, '_, V> {
    #[inline]
    fn packet(&mut self, position: u64, bytes: &[u8], packet: &Packet) {
        *self.synchronised |= *packet == Packet::Async;
        // What was skipped may have begun gigabytes ago; the map does not go back that far.
        let skipped_from = self.skipped_from.take();
        let place = match packet {
            Packet::NotSync { .. } => skipped_from,
            _ => self.place(position).map(|(place, _)| place),
        };
        debug_assert!(place.is_some(), "no place for {packet:?} at {position}");
        if let Some(place) = place {
            self.visitor.packet(&Found { source: self.source, place, bytes, packet });
        }
    }

    fn skipped(&mut self, mut position: u64, mut bytes: &[u8]) {
        while let Some((place, side_by_side)) = self.place(position) {
            self.skipped_from.get_or_insert(place);
            // Zeros may have been held back over several runs: take those one by one.
            let len = if bytes.first() == Some(&0) { 1 } else { side_by_side };
            let (now, later) = bytes.split_at(len.min(bytes.len()));
            self.visitor.skipped(self.source, place, now);
            position += now.len() as u64;
            bytes = later;
            if bytes.is_empty() {
                return;
            }
        }
    }
}
