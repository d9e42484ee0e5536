//! From a capture's buffers to packets.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tracewright_core::TraceId;
use tracewright_etm::packet::{Packet, Parser, Resync, Sink};
use tracewright_frames::{Deframer, DstreamBlocks, Format, Lost, LostReason, OffsetMap, Run};
use tracewright_input::{Buffer, BufferFormat, Capture, Protocol};

use crate::output::Error;
use crate::progress;

/// Bytes read from a file at once.
const CHUNK: usize = 1 << 20;

/// Where a packet began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Offset in the file.
    pub offset: u64,
    /// What OpenCSD's tools print as `Idx`.
    pub opencsd_index: u64,
}

/// What takes a buffer's packets, in file order.
pub trait Visitor {
    /// A packet of `source`, which ends here; it began at `place`.
    fn packet(&mut self, source: &SourceId<'_>, place: Place, bytes: &[u8], packet: &Packet);
    /// Bytes of `source` passed over while it is not synchronised.
    fn skipped(&mut self, _source: &SourceId<'_>, _place: Place, _bytes: &[u8]) {}
    /// Bytes that could be given to no source.
    fn lost(&mut self, _lost: &Lost) {}
    /// Bytes of a source that nothing here can read.
    fn unread(&mut self, _id: TraceId, _len: u64) {}
    /// Whether to stop: nobody is interested in more.
    fn is_done(&self) -> bool {
        false
    }
}

/// A source within a buffer.
#[derive(Debug)]
pub struct SourceId<'a> {
    /// Its index in the capture.
    pub index: usize,
    /// Its trace ID as printed: 0 in buffers without frames.
    pub id: TraceId,
    /// Its parameters.
    pub params: &'a tracewright_etm::Params,
}

/// How to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What to do after bytes that are no packet.
    pub resync: Resync,
    /// Packets of different sources may come out of file order and without their places: faster, since each source's
    /// bytes are gathered before they are parsed.
    pub unordered: bool,
}

/// Bytes gathered of a source before they are parsed.
const GATHER: usize = 1 << 16;

/// Whether bytes were lost inside a stream. That it starts in the middle of something is normal.
pub fn is_damage(lost: &Lost) -> bool {
    !matches!(lost.reason, LostReason::NoSync | LostReason::NoSource)
}

/// Reads all of a buffer. Returns its length.
pub fn read(
    capture: &Capture,
    buffer: &Buffer,
    options: Options,
    wants: &dyn Fn(TraceId) -> bool,
    visitor: &mut impl Visitor,
) -> Result<u64, Error> {
    let mut lanes = Lanes::new(capture, buffer, options, wants, visitor);
    let format = match buffer.format {
        BufferFormat::SourceData => {
            let read = for_each_chunk(&buffer.path, |chunk| {
                lanes.unframed(chunk);
                !lanes.visitor.is_done()
            })?;
            lanes.finish();
            return Ok(read);
        }
        BufferFormat::CoreSight => Format::Aligned,
        BufferFormat::CoreSightFsync | BufferFormat::DstreamCoreSight => Format::Fsync,
        BufferFormat::CoreSightHsync => Format::FsyncHsync,
    };
    let mut deframer = Deframer::new(format);
    let mut blocks = (buffer.format == BufferFormat::DstreamCoreSight).then(DstreamBlocks::new);
    lanes.dstream = blocks.is_some();
    let read = for_each_chunk(&buffer.path, |chunk| {
        match &mut blocks {
            Some(blocks) => blocks.feed(chunk, &mut deframer, &mut lanes),
            None => deframer.feed(chunk, &mut lanes),
        }
        !lanes.visitor.is_done()
    })?;
    deframer.finish(&mut lanes);
    lanes.finish();
    Ok(read)
}

/// Calls `f` with the file's bytes, piece by piece, until it returns false; shows progress. Returns how many there were.
fn for_each_chunk(path: &Path, mut f: impl FnMut(&[u8]) -> bool) -> Result<u64, Error> {
    let cannot = |error: io::Error| Error::Message(format!("{}: cannot read: {error}", path.display()));
    let mut file: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(io::stdin().lock()),
        _ => Box::new(File::open(path).map_err(cannot)?),
    };
    let len = path.metadata().map_or(0, |metadata| metadata.len());
    let bar = progress::bar(len, &path.file_name().unwrap_or_default().to_string_lossy());
    let mut chunk = vec![0; CHUNK];
    let mut total = 0;
    loop {
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => {
                total += read as u64;
                if !f(&chunk[..read]) {
                    break;
                }
                bar.inc(read as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(cannot(error)),
        }
    }
    bar.finish_and_clear();
    Ok(total)
}

/// The sources of one buffer, each with its parser.
struct Lanes<'a, V> {
    lanes: Vec<Lane<'a>>,
    /// By trace ID: which lane.
    by_id: [Option<u8>; 0x80],
    dstream: bool,
    unordered: bool,
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
        // An unframed buffer holds a single source's bytes: the first one's.
        let sources = buffer.sources.iter().take(if framed { usize::MAX } else { 1 });
        let mut by_id = [None; 0x80];
        let mut lanes = Vec::new();
        for &index in sources {
            let Protocol::Etm(params) = &capture.sources[index].protocol else { continue };
            if !wants(params.id()) || lanes.len() >= 0x80 {
                continue;
            }
            by_id[usize::from(params.id().get())] = Some(lanes.len() as u8);
            let id = if framed { params.id() } else { TraceId::NULL };
            let source = SourceId { index, id, params };
            let parser = Parser::new((**params).clone()).with_resync(options.resync);
            lanes.push(Lane {
                source,
                parser,
                offsets: OffsetMap::new(),
                gathered: Vec::new(),
                skipped_from: None,
            });
        }
        Self { lanes, by_id, dstream: false, unordered: options.unordered, wants, visitor }
    }

    fn unframed(&mut self, bytes: &[u8]) {
        if let Some(Lane { source, parser, .. }) = self.lanes.first_mut() {
            parser.feed(bytes, &mut Unframed { source, visitor: self.visitor });
        }
    }

    fn finish(&mut self) {
        for lane in &mut self.lanes {
            lane.parse_gathered(self.visitor);
            let (parser, mut sink) = lane.split(self.dstream, self.visitor);
            parser.finish(&mut sink);
        }
    }

    fn reset_all(&mut self) {
        for lane in &mut self.lanes {
            lane.parse_gathered(self.visitor);
            let (parser, mut sink) = lane.split(self.dstream, self.visitor);
            parser.finish(&mut sink);
        }
    }
}

impl<'a> Lane<'a> {
    /// The parser, and a sink for it.
    fn split<'l, V: Visitor>(
        &'l mut self,
        dstream: bool,
        visitor: &'l mut V,
    ) -> (&'l mut Parser, Framed<'l, 'a, V>) {
        let Self { source, parser, offsets, skipped_from, .. } = self;
        (parser, Framed { source, offsets, skipped_from, dstream, visitor })
    }

    fn parse_gathered<V: Visitor>(&mut self, visitor: &mut V) {
        let Self { source, parser, gathered, .. } = self;
        parser.feed(gathered, &mut Unframed { source, visitor });
        gathered.clear();
    }
}

impl<V: Visitor> tracewright_frames::Sink for Lanes<'_, V> {
    fn data(&mut self, run: Run, bytes: &[u8]) {
        let Some(lane) = self.by_id[usize::from(run.id.get())] else {
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
        let (parser, mut sink) = lane.split(self.dstream, self.visitor);
        parser.feed(bytes, &mut sink);
        lane.offsets.forget_before(lane.parser.unfinished());
    }

    fn lost(&mut self, lost: Lost) {
        self.visitor.lost(&lost);
        // Bytes of any source may be among those lost inside the stream: a packet that straddles the hole would be
        // made of bytes that do not belong together.
        if matches!(lost.reason, LostReason::ReservedId | LostReason::CutFrame | LostReason::StraySync) {
            self.reset_all();
        }
    }

    fn reset(&mut self, _offset: u64) {
        self.reset_all();
    }
}

/// Packets of a buffer without frames: stream positions are file offsets.
struct Unframed<'l, 'a, V> {
    source: &'l SourceId<'a>,
    visitor: &'l mut V,
}

impl<V: Visitor> Sink for Unframed<'_, '_, V> {
    fn packet(&mut self, offset: u64, bytes: &[u8], packet: &Packet) {
        self.visitor.packet(self.source, Place { offset, opencsd_index: offset }, bytes, packet);
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
    dstream: bool,
    visitor: &'l mut V,
}

impl<V> Framed<'_, '_, V> {
    fn place(&mut self, position: u64) -> Place {
        let Some(run) = self.offsets.run_at(position) else { return Place::default() };
        let counted = if self.dstream { DstreamBlocks::payload_offset(run.offset) } else { run.offset };
        Place { offset: run.offset, opencsd_index: counted.saturating_sub(run.slip.into()) }
    }
}

impl<V: Visitor> Sink for Framed<'_, '_, V> {
    fn packet(&mut self, position: u64, bytes: &[u8], packet: &Packet) {
        // What was skipped may have begun gigabytes ago; the map does not go back that far.
        let skipped_from = self.skipped_from.take();
        let place = match packet {
            Packet::NotSync { .. } => skipped_from.unwrap_or_default(),
            _ => self.place(position),
        };
        self.visitor.packet(self.source, place, bytes, packet);
    }

    fn skipped(&mut self, position: u64, bytes: &[u8]) {
        let place = self.place(position);
        self.skipped_from.get_or_insert(place);
        self.visitor.skipped(self.source, place, bytes);
    }
}
