//! A buffer's bytes, one lane a source, a window at a time.

use tracewright_frames::{DstreamBlocks, OffsetMap};
use tracewright_image::Moment;
use tracewright_input::{Buffer, BufferFormat, Capture};

use super::incoming::Incoming;
use super::protocol::Protocol;
use super::source::Source;
use crate::reader::Place;

/// One source's stream.
pub struct Lane<'a, T: Protocol> {
    pub source: Source<'a>,
    pub params: &'a T::Params,
    /// The bytes of this window.
    pub bytes: Vec<u8>,
    /// Stream position of the first of them.
    pub start: u64,
    /// How many bytes there were up to the last of them.
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

impl<'a, T: Protocol> Lane<'a, T> {
    fn new(source: Source<'a>, params: &'a T::Params, places: Places) -> Self {
        let (bytes, cuts) = (Vec::new(), Vec::new());
        Self { source, params, bytes, start: 0, taken: 0, cuts, places, moment: Moment::LAST }
    }

    /// Stream position behind the bytes of this window.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

/// All lanes of a buffer.
pub struct Lanes<'a, T: Protocol> {
    pub lanes: Vec<Lane<'a, T>>,
}

impl<'a, T: Protocol> Lanes<'a, T> {
    /// The lanes of a buffer.
    pub fn new(capture: &'a Capture, buffer: &Buffer, wants: &dyn Fn(u16) -> bool) -> Self {
        let framed = !matches!(buffer.format, BufferFormat::SourceData | BufferFormat::Etrace);
        // A buffer of source data holds a single source's bytes: the first one's.
        let most = if buffer.format == BufferFormat::SourceData { 1 } else { usize::MAX };
        let dstream = buffer.format == BufferFormat::DstreamCoreSight;
        let mut lanes: Vec<Lane<'a, T>> = Vec::new();
        for &index in buffer.sources.iter().take(most) {
            let source = &capture.sources[index];
            let (Some(params), Some(id)) = (T::params(&source.protocol), source.number()) else { continue };
            if !wants(id) || lanes.iter().any(|lane| lane.source.id == id) {
                continue;
            }
            let places =
                if framed { Places::Frames { map: OffsetMap::new(), dstream } } else { Places::Same };
            lanes.push(Lane::new(
                Source { index, id, unit: T::unit(params), time: source.time },
                params,
                places,
            ));
        }
        Self { lanes }
    }

    /// That of a single source, whose bytes are not in frames.
    pub fn single(params: &'a T::Params, id: u16) -> Self {
        Self {
            lanes: vec![Lane::new(
                Source { index: 0, id, unit: T::unit(params), time: None },
                params,
                Places::Same,
            )],
        }
    }

    /// What comes next begins at this file offset, and was written at this moment.
    pub fn begin(&mut self, offset: u64, moment: Moment, incoming: &mut Incoming<'_>) {
        for (lane, coming) in self.lanes.iter_mut().zip(&mut incoming.lanes) {
            lane.moment = moment;
            lane.start = if let Places::Same = lane.places { offset } else { lane.end() };
            lane.bytes.clear();
            coming.start = lane.start;
        }
    }

    /// Goes on to the next window: what has come.
    pub fn advance(&mut self, incoming: &mut Incoming<'_>) {
        for (lane, coming) in self.lanes.iter_mut().zip(&mut incoming.lanes) {
            lane.start = coming.start;
            std::mem::swap(&mut lane.bytes, &mut coming.bytes);
            std::mem::swap(&mut lane.cuts, &mut coming.cuts);
            lane.taken += lane.bytes.len() as u64;
            if let Places::Frames { map, .. } = &mut lane.places {
                map.append(&mut coming.map);
            }
            coming.start = lane.end();
            coming.bytes.clear();
            coming.cuts.clear();
        }
    }
}
