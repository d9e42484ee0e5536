//! One source's share of a buffer, a window at a time.

use tracewright_frames::OffsetMap;
use tracewright_image::Moment;
use tracewright_input::{Buffer, BufferFormat, Capture};

use crate::incoming::Incoming;
use crate::place::Places;
use crate::protocol;
use crate::source::Source;
use crate::stream::Plug;

/// One source's stream.
pub struct Lane<'a> {
    pub source: Source<'a>,
    pub plug: &'static dyn Plug,
    /// The bytes of this window.
    pub bytes: Vec<u8>,
    /// Stream position of the first byte of this window.
    pub start: u64,
    /// Number of bytes up to the end of this window.
    pub taken: u64,
    /// Stream positions in this window before which the stream is interrupted.
    pub cuts: Vec<u64>,
    pub places: Places,
    /// When the bytes were written, and by whom.
    pub moment: Moment,
}

impl<'a> Lane<'a> {
    fn new(source: Source<'a>, plug: &'static dyn Plug, places: Places) -> Self {
        let (bytes, cuts) = (Vec::new(), Vec::new());
        Self { source, plug, bytes, start: 0, taken: 0, cuts, places, moment: Moment::LAST }
    }

    /// Returns the stream position after the bytes of this window.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

/// Makes a lane for each source of a buffer that a protocol reads and `wants` names.
pub fn lanes<'a>(capture: &'a Capture, buffer: &Buffer, wants: &dyn Fn(u16) -> bool) -> Vec<Lane<'a>> {
    let framed = !matches!(buffer.format, BufferFormat::SourceData | BufferFormat::Etrace);
    // A buffer of source data holds a single source's bytes: the first one's.
    let most = if buffer.format == BufferFormat::SourceData { 1 } else { usize::MAX };
    let dstream = buffer.format == BufferFormat::DstreamCoreSight;
    let mut lanes: Vec<Lane<'a>> = Vec::new();
    for &index in buffer.sources.iter().take(most) {
        let of = &capture.sources[index];
        let (Some(plug), Some(id)) = (protocol::of(of), of.number()) else { continue };
        if !wants(id) || lanes.iter().any(|lane| lane.source.id == id) {
            continue;
        }
        let places = if framed { Places::Frames { map: OffsetMap::new(), dstream } } else { Places::Same };
        lanes.push(Lane::new(Source { index, id, of }, plug, places));
    }
    lanes
}

/// Starts a piece of the file at `offset`, written at `moment`.
pub fn begin(lanes: &mut [Lane<'_>], offset: u64, moment: Moment, incoming: &mut Incoming<'_>) {
    for (lane, coming) in lanes.iter_mut().zip(&mut incoming.lanes) {
        lane.moment = moment;
        lane.start = if let Places::Same = lane.places { offset } else { lane.end() };
        lane.bytes.clear();
        coming.start = lane.start;
    }
}

/// Advances to the next window: the bytes in `incoming`.
pub fn advance(lanes: &mut [Lane<'_>], incoming: &mut Incoming<'_>) {
    for (lane, coming) in lanes.iter_mut().zip(&mut incoming.lanes) {
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
