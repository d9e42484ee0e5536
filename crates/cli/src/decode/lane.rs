//! A buffer's bytes, one lane a source, a window at a time.

use tracewright_core::TraceId;
use tracewright_frames::{DstreamBlocks, Lost, LostReason, OffsetMap, Run, Sink};
use tracewright_image::Moment;
use tracewright_input::{Buffer, BufferFormat, Capture};

use super::protocol::Protocol;
use super::source::Source;
use crate::reader::{Place, is_damage};

/// One source's stream.
pub struct Lane<'a, T: Protocol> {
    pub source: Source<'a>,
    pub params: &'a T::Params,
    /// The bytes of this window.
    pub bytes: Vec<u8>,
    /// Stream position of the first of them.
    pub start: u64,
    /// How many bytes came before them.
    pub taken: u64,
    /// Stream positions in this window before which the stream is interrupted.
    pub cuts: Vec<u64>,
    pub places: Places,
    /// When its bytes were written, and by whom.
    pub moment: Moment,
}

/// Where the bytes of a stream are in the file.
pub enum Places {
    /// Where they are in the stream.
    Same,
    /// In frames.
    Frames { map: OffsetMap, dstream: bool },
}

impl Places {
    /// The place of a position; `None` if it was forgotten. `cursor` is the asker's own, 0 in the beginning.
    pub fn of(&self, position: u64, cursor: &mut usize) -> Option<Place> {
        match self {
            Self::Same => Some(Place { offset: position, opencsd_index: position }),
            Self::Frames { map, dstream } => {
                let run = map.run_near(position, cursor)?;
                let counted = if *dstream { DstreamBlocks::payload_offset(run.offset) } else { run.offset };
                Some(Place { offset: run.offset, opencsd_index: counted.saturating_sub(run.slip.into()) })
            }
        }
    }

    /// Says that positions before this one will not be asked for any more.
    pub fn forget_before(&mut self, position: u64) {
        if let Self::Frames { map, .. } = self {
            map.forget_before(position);
        }
    }
}

impl<T: Protocol> Lane<'_, T> {
    /// Stream position behind the bytes of this window.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

/// All lanes of a buffer.
pub struct Lanes<'a, T: Protocol> {
    pub lanes: Vec<Lane<'a, T>>,
    /// By trace ID: which lane.
    by_id: [Option<u8>; 0x80],
    wants: &'a (dyn Fn(u16) -> bool + Sync),
    /// Whether any frame was read.
    pub any_frame: bool,
    /// By trace ID: bytes of sources that nothing here reads.
    pub unread: [u64; 0x80],
    /// Damage found by the deframer.
    pub damage: Vec<Lost>,
    pub damages: u64,
}

/// No more are listed.
const MOST_DAMAGE: usize = 20;

impl<'a, T: Protocol> Lanes<'a, T> {
    /// The lanes of a buffer.
    pub fn new(capture: &'a Capture, buffer: &Buffer, wants: &'a (dyn Fn(u16) -> bool + Sync)) -> Self {
        let framed = !matches!(buffer.format, BufferFormat::SourceData | BufferFormat::Etrace);
        // A buffer of source data holds a single source's bytes: the first one's.
        let most = if buffer.format == BufferFormat::SourceData { 1 } else { usize::MAX };
        let mut lanes: Vec<Lane<'a, T>> = Vec::new();
        let mut by_id = [None; 0x80];
        for &index in buffer.sources.iter().take(most) {
            let source = &capture.sources[index];
            let (Some(params), Some(id)) = (T::params(&source.protocol), source.number()) else { continue };
            if !wants(id) || lanes.iter().any(|lane| lane.source.id == id) {
                continue;
            }
            if let Some(id) = source.id() {
                by_id[usize::from(id.get())] = Some(lanes.len() as u8);
            }
            let dstream = buffer.format == BufferFormat::DstreamCoreSight;
            lanes.push(Lane {
                source: Source { index, id, unit: T::unit(params) },
                params,
                bytes: Vec::new(),
                start: 0,
                taken: 0,
                cuts: Vec::new(),
                places: if framed { Places::Frames { map: OffsetMap::new(), dstream } } else { Places::Same },
                moment: Moment::LAST,
            });
        }
        Self { lanes, by_id, wants, any_frame: false, unread: [0; 0x80], damage: Vec::new(), damages: 0 }
    }

    /// That of a single source, whose bytes are not in frames.
    pub fn single(params: &'a T::Params, id: u16) -> Self {
        let lane = Lane {
            source: Source { index: 0, id, unit: T::unit(params) },
            params,
            bytes: Vec::new(),
            start: 0,
            taken: 0,
            cuts: Vec::new(),
            places: Places::Same,
            moment: Moment::LAST,
        };
        Self {
            lanes: vec![lane],
            by_id: [None; 0x80],
            wants: &|_| true,
            any_frame: false,
            unread: [0; 0x80],
            damage: Vec::new(),
            damages: 0,
        }
    }

    /// What comes next begins at this file offset, and was written at this moment.
    pub fn begin(&mut self, offset: u64, moment: Moment) {
        for lane in &mut self.lanes {
            lane.moment = moment;
            if let Places::Same = lane.places {
                lane.start = offset;
            }
        }
    }

    /// Takes bytes of a buffer without frames.
    pub fn unframed(&mut self, bytes: &[u8], buffer: &Buffer, capture: &Capture) {
        // E-Trace's sources all see all bytes.
        for lane in &mut self.lanes {
            lane.bytes.extend_from_slice(bytes);
        }
        if self.lanes.is_empty() {
            let source = buffer.sources.first().map(|&source| &capture.sources[source]);
            let id = source.and_then(tracewright_input::Source::id).unwrap_or(TraceId::NULL);
            if (self.wants)(id.get().into()) {
                self.unread[usize::from(id.get())] += bytes.len() as u64;
            }
        }
    }

    /// Goes on to the next window.
    pub fn advance(&mut self) {
        for lane in &mut self.lanes {
            lane.start = lane.end();
            lane.taken += lane.bytes.len() as u64;
            lane.bytes.clear();
            lane.cuts.clear();
        }
    }

    fn cut(&mut self) {
        for lane in &mut self.lanes {
            let end = lane.end();
            if lane.cuts.last() != Some(&end) {
                lane.cuts.push(end);
            }
        }
    }
}

impl<T: Protocol> Sink for Lanes<'_, T> {
    fn data(&mut self, run: Run, bytes: &[u8]) {
        self.any_frame = true;
        let Some(lane) = self.by_id[usize::from(run.id.get()) & 0x7f] else {
            if (self.wants)(run.id.get().into()) {
                self.unread[usize::from(run.id.get()) & 0x7f] += bytes.len() as u64;
            }
            return;
        };
        let lane = &mut self.lanes[usize::from(lane)];
        if let Places::Frames { map, .. } = &mut lane.places {
            map.push(run, bytes.len() as u64);
        }
        lane.bytes.extend_from_slice(bytes);
    }

    fn lost(&mut self, lost: Lost) {
        if is_damage(&lost) {
            self.damages += 1;
            if self.damage.len() < MOST_DAMAGE {
                self.damage.push(lost);
            }
        }
        // Bytes of any source may be among those lost inside the stream.
        if matches!(lost.reason, LostReason::ReservedId | LostReason::CutFrame | LostReason::StraySync) {
            self.cut();
        }
    }

    fn reset(&mut self, _offset: u64) {
        self.cut();
    }
}
