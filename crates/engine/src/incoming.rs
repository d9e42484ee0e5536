//! A buffer's next bytes, read and unpacked while the bytes before them are decoded.

use tracewright_core::TraceId;
use tracewright_frames::{
    Deframer, DstreamBlocks, Format, FrameSink, Line, LineDecoder, LineEvent, Lost, LostReason, OffsetMap,
    PibDecoder, Pins, Run,
};
use tracewright_input::{Buffer, Packing, Piece, Source};

use crate::joined::{Joined, Joiner, Joining};
use crate::lane::{Lane, by_id};
use crate::problem::{Error, Fault};
use crate::protocol::Options;
use crate::reader::BufferReader;
use crate::router::{Packets, Router};
use crate::stream::Plug;

/// A receiver of a buffer's bytes: as a sink of frames, or without frames.
pub trait Receive: FrameSink {
    /// Takes bytes without frames.
    fn unframed(&mut self, bytes: &[u8]);

    /// Takes a message that was joined from several frames, or bytes that are none ([`Packing::CoreSightNexus`]).
    fn message(&mut self, _joined: &Joined) {}

    /// Returns the trace ID of the source to which the bytes of a serial line without frames belong.
    fn first(&self) -> TraceId;
}

/// Bytes received for all lanes and not yet decoded.
pub struct Incoming<'a> {
    /// Bytes of each lane, in the order of the lanes.
    pub lanes: Vec<Coming>,
    /// Parses bytes that several lanes share.
    pub router: Option<Box<dyn Router + 'a>>,
    /// Lane of each trace ID.
    by_id: [Option<u8>; 0x80],
    /// Finds the source of a message that was joined from frames, if there are such.
    sources: Option<Sources<'a>>,
    /// Lane of the last message.
    last: u8,
    wants: &'a (dyn Fn(u16) -> bool + Sync),
    /// Trace ID of the buffer's first source.
    first: TraceId,
    /// Whether any frame was read.
    pub any_frame: bool,
    /// Bytes of sources that no protocol reads, by trace ID.
    pub unread: [u64; 0x80],
    /// Damage found by the deframer.
    pub damage: Vec<Lost>,
}

/// Bytes received for one lane and not yet decoded.
#[derive(Default)]
pub struct Coming {
    /// The bytes, unless their packets are routed.
    pub bytes: Vec<u8>,
    /// Number of bytes, also if their packets are routed.
    pub len: usize,
    /// Their packets, if they were parsed for all lanes that share them.
    pub routed: Option<Packets>,
    /// Stream position of the first byte.
    pub start: u64,
    /// Stream positions before which the stream is interrupted.
    pub cuts: Vec<u64>,
    /// Offsets of the bytes in the file, if they were in frames.
    pub map: OffsetMap,
}

impl Coming {
    fn push(&mut self, run: Run, bytes: &[u8]) {
        self.map.push(run, bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
        self.len += bytes.len();
    }
}

/// Most places of damage that are listed.
pub const MOST_DAMAGE: usize = 20;

impl<'a> Incoming<'a> {
    pub fn new(
        lanes: &mut [Lane<'a>],
        options: &'a Options,
        wants: &'a (dyn Fn(u16) -> bool + Sync),
        first: Option<TraceId>,
    ) -> Self {
        let ids: Vec<_> = lanes.iter().map(|lane| lane.source.id).collect();
        let by_id = by_id(&ids);
        let router = match &*lanes {
            [first, _, ..] if first.can_share(lanes) => first.plug.router(first.source.of, options, ids),
            _ => None,
        };
        let none = || router.as_ref().map(|router| router.none());
        lanes.iter_mut().for_each(|lane| lane.routed = none());
        let sources = lanes.first().map(|lane| Sources { plug: lane.plug, of: lane.source.of });
        let lanes = lanes.iter().map(|_| Coming { routed: none(), ..Coming::default() }).collect();
        let first = first.unwrap_or(TraceId::NULL);
        Self {
            lanes,
            router,
            by_id,
            sources,
            last: 0,
            wants,
            first,
            any_frame: false,
            unread: [0; 0x80],
            damage: Vec::new(),
        }
    }

    fn unread(&mut self, id: TraceId, bytes: usize) {
        if (self.wants)(id.get().into()) {
            self.unread[usize::from(id.get()) & 0x7f] += bytes as u64;
        }
    }

    fn cut(&mut self) {
        for lane in &mut self.lanes {
            let end = lane.start + lane.len as u64;
            if lane.cuts.last() != Some(&end) {
                lane.cuts.push(end);
            }
        }
    }
}

impl Receive for Incoming<'_> {
    fn first(&self) -> TraceId {
        self.first
    }

    fn message(&mut self, joined: &Joined) {
        let id = self.sources.and_then(|sources| sources.id(&joined.bytes));
        // What belongs to none goes where the message before went.
        let lane = match id {
            Some(id) => self.by_id[usize::from(id.get())],
            None => Some(self.last).filter(|last| usize::from(*last) < self.lanes.len()),
        };
        self.last = lane.unwrap_or(self.last);
        for (run, bytes) in joined.parts() {
            self.any_frame = true;
            match lane {
                Some(lane) => self.lanes[usize::from(lane)].push(run, bytes),
                None => self.unread(id.unwrap_or(run.id), bytes.len()),
            }
        }
    }

    fn unframed(&mut self, bytes: &[u8]) {
        self.lanes.iter_mut().for_each(|lane| lane.len += bytes.len());
        match (&mut self.lanes[..], &mut self.router) {
            ([], _) if (self.wants)(self.first.get().into()) => {
                self.unread[usize::from(self.first.get())] += bytes.len() as u64;
            }
            (lanes, Some(router)) => router.route(Some(bytes), lanes),
            (lanes, None) => lanes.iter_mut().for_each(|lane| lane.bytes.extend_from_slice(bytes)),
        }
    }
}

/// The sources of messages that were joined from frames.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    pub plug: &'static dyn Plug,
    /// One of the sources; all are alike.
    pub of: &'a Source,
}

impl Sources<'_> {
    /// Returns the trace ID that a message's source would have in frames of its own; `None` if it names none.
    pub fn id(self, message: &[u8]) -> Option<TraceId> {
        let number = self.plug.message_source(self.of, message)?;
        Some(if number < 0x80 { TraceId::from_low_bits(number as u8) } else { UNKNOWN })
    }
}

/// Stands for sources that frames cannot have.
const UNKNOWN: TraceId = TraceId::from_low_bits(0x7f);

impl FrameSink for Incoming<'_> {
    fn data(&mut self, run: Run, bytes: &[u8]) {
        self.any_frame = true;
        match self.by_id[usize::from(run.id.get()) & 0x7f] {
            Some(lane) => self.lanes[usize::from(lane)].push(run, bytes),
            None => self.unread(run.id, bytes.len()),
        }
    }

    fn lost(&mut self, lost: Lost) {
        if is_damage(&lost) && self.damage.len() < MOST_DAMAGE {
            self.damage.push(lost);
        }
        if interrupts(&lost) {
            self.cut();
        }
    }

    fn reset(&mut self, _offset: u64) {
        self.cut();
    }
}

/// Returns whether bytes were lost inside a stream. That a stream starts in the middle of a frame is normal.
pub fn is_damage(lost: &Lost) -> bool {
    !matches!(
        lost.reason,
        LostReason::NoSync | LostReason::NoSource | LostReason::LineStart | LostReason::PinsStart
    )
}

/// Returns whether bytes of any source may be among those lost. A packet that straddles the hole would be made of bytes that do not
/// belong together.
pub fn interrupts(lost: &Lost) -> bool {
    matches!(
        lost.reason,
        LostReason::ReservedId
            | LostReason::CutFrame
            | LostReason::StraySync
            | LostReason::Line
            | LostReason::Pins
            | LostReason::PinsStart
    )
}

/// Reads a buffer's file, piece by piece and window by window.
pub struct Reading<'a> {
    input: BufferReader<'a>,
    buffer: &'a Buffer,
    unpack: Unpack,
    chunk: Vec<u8>,
    /// Bytes read so far.
    pub bytes: u64,
    /// File offset after the last byte read.
    pub at: u64,
}

impl<'a> Reading<'a> {
    pub fn new(input: BufferReader<'a>, buffer: &'a Buffer) -> Self {
        let unpack = Unpack::starting_at(buffer.format, 0);
        Self { input, buffer, unpack, chunk: Vec::new(), bytes: 0, at: 0 }
    }

    /// Advances to the next piece of the file.
    pub fn next_piece(&mut self) -> Result<Option<Piece>, Error> {
        let Some(piece) = self.input.next_piece()? else { return Ok(None) };
        self.unpack = Unpack::starting_at(self.buffer.format, piece.offset);
        self.at = piece.offset;
        Ok(Some(piece))
    }

    /// Takes the faults of the file found so far.
    pub fn take_faults(&mut self) -> Vec<Fault> {
        self.input.take_faults()
    }

    /// Reads a window of `size` bytes. Returns whether the piece goes on.
    pub fn window(&mut self, size: usize, to: &mut impl Receive) -> Result<bool, Error> {
        self.chunk.resize(size, 0);
        let len = self.input.fill(&mut self.chunk)?;
        self.give(len, to);
        Ok(len > 0)
    }

    /// Reads what is there already, `size` bytes at most. Returns whether the piece goes on.
    pub fn chunk(&mut self, size: usize, to: &mut impl Receive) -> Result<bool, Error> {
        self.chunk.resize(size, 0);
        let len = self.input.read(&mut self.chunk)?;
        self.give(len, to);
        Ok(len > 0)
    }

    fn give(&mut self, len: usize, to: &mut impl Receive) {
        let bytes = &self.chunk[..len];
        (self.bytes, self.at) = (self.bytes + len as u64, self.at + len as u64);
        // No bytes are taken, too: a router forgets the packets of the bytes before.
        self.unpack.feed(bytes, to);
        if len == 0 {
            self.unpack.finish(to);
        }
    }
}

/// Takes a buffer's bytes out of their packing.
pub struct Unpack {
    line: Option<LineDecoder>,
    pins: Option<PibDecoder>,
    deframer: Option<Deframer>,
    blocks: Option<DstreamBlocks>,
    joiner: Option<Joiner>,
}

impl Unpack {
    /// Creates an unpacker for the part of a file that begins at `offset`.
    pub fn starting_at(packing: Packing, offset: u64) -> Self {
        let is_dstream = packing == Packing::DstreamCoreSight;
        let deframer = format(packing).map(|format| Deframer::starting_at(format, offset));
        let line = line(packing).map(|line| LineDecoder::starting_at(line, offset));
        let pins = pins(packing).map(|pins| PibDecoder::starting_at(pins, offset));
        let joiner = (packing == Packing::CoreSightNexus).then(Joiner::new);
        Self { line, pins, deframer, blocks: is_dstream.then(DstreamBlocks::new), joiner }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8], to: &mut impl Receive) {
        if let Some(line) = &mut self.line {
            return line.feed(bytes, &mut |event| sent(event, self.deframer.as_mut(), to));
        }
        if let Some(pins) = &mut self.pins {
            return pins.feed(bytes, &mut |event| sent(event, None, to));
        }
        match (&mut self.deframer, &mut self.blocks) {
            (None, _) => to.unframed(bytes),
            (Some(deframer), None) => match &mut self.joiner {
                Some(joiner) => deframer.feed(bytes, &mut Joining { joiner, to }),
                None => deframer.feed(bytes, to),
            },
            (Some(deframer), Some(blocks)) => blocks.feed(bytes, deframer, to),
        }
    }

    /// Returns the number of samples in a bit of a serial line, if it is known.
    pub fn samples_per_bit(&self) -> Option<f64> {
        Some(self.line.as_ref()?.bit_length()?.samples())
    }

    /// Ends the part of the file.
    pub fn finish(&mut self, to: &mut impl Receive) {
        if let Some(line) = &mut self.line {
            line.finish(&mut |event| sent(event, self.deframer.as_mut(), to));
        }
        if let Some(pins) = &mut self.pins {
            pins.finish(&mut |event| sent(event, None, to));
        }
        match (&mut self.deframer, &mut self.joiner) {
            (Some(deframer), Some(joiner)) => {
                deframer.finish(&mut Joining { joiner, to });
                joiner.finish(to);
            }
            (Some(deframer), None) => deframer.finish(to),
            (None, _) => {}
        }
    }
}

/// Takes what was sent on a serial line or by pins: to the deframer, if there are frames.
fn sent(event: LineEvent, deframer: Option<&mut Deframer>, to: &mut impl Receive) {
    match (event, deframer) {
        (LineEvent::Byte { offset, byte }, None) => to.data(Run::single(to.first(), offset), &[byte]),
        (LineEvent::Byte { offset, byte }, Some(deframer)) => {
            deframer.skip(offset.saturating_sub(deframer.offset()));
            deframer.feed(&[byte], to);
        }
        (LineEvent::Lost(lost), deframer) => {
            // The frame lacks bytes, and so does what follows up to the next sync.
            if let Some(deframer) = deframer {
                deframer.finish(to);
            }
            to.lost(lost);
        }
    }
}

/// Returns the kind of serial line of which a buffer holds samples, if it does.
fn line(packing: Packing) -> Option<Line> {
    match packing {
        Packing::Uart | Packing::UartFsync => Some(Line::Uart),
        Packing::Manchester | Packing::ManchesterFsync => Some(Line::Manchester),
        _ => None,
    }
}

/// Returns the number of pins of which a buffer holds samples, if it does and they are no bytes.
fn pins(packing: Packing) -> Option<Pins> {
    match packing {
        Packing::Pib1 => Some(Pins::One),
        Packing::Pib2 => Some(Pins::Two),
        Packing::Pib4 => Some(Pins::Four),
        _ => None,
    }
}

/// Returns the kind of frames that a buffer has, if any.
fn format(packing: Packing) -> Option<Format> {
    match packing {
        Packing::Source
        | Packing::Uart
        | Packing::Manchester
        | Packing::Pib1
        | Packing::Pib2
        | Packing::Pib4
        | Packing::Pib8
        | Packing::Pib16 => None,
        Packing::CoreSight | Packing::CoreSightNexus => Some(Format::Aligned),
        Packing::CoreSightFsync
        | Packing::DstreamCoreSight
        | Packing::UartFsync
        | Packing::ManchesterFsync => Some(Format::Fsync),
        Packing::CoreSightHsync => Some(Format::FsyncHsync),
    }
}
