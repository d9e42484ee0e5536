use tracewright_frames::{DstreamBlocks, OffsetMap};
use tracewright_input::{Buffer, Packing, Ring};

/// Where a packet began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Offset in the file.
    pub offset: u64,
    /// What OpenCSD's tools print as `Idx`.
    pub opencsd_index: u64,
}

/// Bit of a stream position of an element whose packet begins with the high half of that byte, for listings in OpenCSD's style: OpenCSD
/// has read the byte, and counts it.
pub const INSIDE: u64 = 1 << 63;

/// Where the bytes of a stream are in the file.
pub enum Places {
    /// Offsets in the file are positions in the stream.
    Same,
    /// The stream goes around a ring.
    Ring(Ring),
    /// The bytes are in frames, or those of a serial line or of pins.
    Frames { map: OffsetMap, format: Packing },
}

impl Places {
    /// Creates the places of a stream in a buffer.
    pub fn new(buffer: &Buffer) -> Self {
        match (buffer.ring, buffer.format) {
            (Some(ring), _) => Self::Ring(ring),
            (None, format) if format.is_as_sent() => Self::Same,
            (None, format) => Self::Frames { map: OffsetMap::new(), format },
        }
    }

    /// Returns the place of a position; `None` if it was forgotten. `cursor` belongs to the caller and begins at 0.
    pub fn of(&self, position: u64, cursor: &mut usize) -> Option<Place> {
        self.neighbours(position, cursor).map(|(place, _)| place)
    }

    /// Returns the place of a position, and the least number of positions from there on that are contiguous in the file.
    pub fn neighbours(&self, position: u64, cursor: &mut usize) -> Option<(Place, usize)> {
        match self {
            Self::Same => Some((Place { offset: position, opencsd_index: position }, usize::MAX)),
            Self::Ring(ring) => {
                let (offset, end) = (ring.offset(position), ring.end());
                Some((Place { offset, opencsd_index: offset }, (end.saturating_sub(offset)) as usize))
            }
            Self::Frames { map, format } => {
                let run = map.run_near(position, cursor)?;
                let counted = match format {
                    Packing::DstreamCoreSight => DstreamBlocks::payload_offset(run.offset),
                    _ => run.offset,
                };
                let opencsd_index = counted.saturating_sub(run.slip.into());
                let is_alone = format.is_sampled();
                let side_by_side = if is_alone { 1 } else { 15usize.saturating_sub(run.lane.into()).max(1) };
                Some((Place { offset: run.offset, opencsd_index }, side_by_side))
            }
        }
    }

    /// Returns whether each byte has an offset of its own.
    pub fn is_sampled(&self) -> bool {
        matches!(self, Self::Frames { format, .. } if format.is_sampled())
    }

    /// Forgets positions before this one.
    pub fn forget_before(&mut self, position: u64) {
        if let Self::Frames { map, .. } = self {
            map.forget_before(position);
        }
    }
}
