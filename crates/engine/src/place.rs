use tracewright_frames::{DstreamBlocks, OffsetMap};

/// Where a packet began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Offset in the file.
    pub offset: u64,
    /// What OpenCSD's tools print as `Idx`.
    pub opencsd_index: u64,
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
