use tracewright_core::TraceId;

/// Data bytes a frame holds at most: every byte but the last, the auxiliary byte.
pub(crate) const LANES: u64 = 15;

/// Where a stretch of one source's bytes came from.
///
/// The bytes of a run are neighbours in the file, except that the auxiliary byte of each 16-byte frame is
/// left out. Anything else in between (an ID byte, a sync, a container's footer) ends the run, so that the
/// file offset of each byte follows from the first one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The source.
    pub id: TraceId,
    /// Position of the first byte in its frame, 0 to 14. Frames need not be aligned in the file.
    pub lane: u8,
    /// How far OpenCSD's index of the run's bytes lags behind their offset, in the run's first frame; see
    /// [`opencsd_index_of`](Self::opencsd_index_of).
    pub slip: u32,
    /// File offset of the first byte.
    pub offset: u64,
}

impl Run {
    /// File offset of the run's byte number `index`.
    pub fn offset_of(&self, index: u64) -> u64 {
        self.offset + index + (u64::from(self.lane) + index) / LANES
    }

    /// The `Idx` that OpenCSD's tools print for the run's byte number `index`.
    ///
    /// OpenCSD splits a frame into groups, one for each change of source, and numbers the bytes of a group
    /// upward from the frame's offset (first group) or the ID byte's offset (later groups). It does not count
    /// the ID bytes and half syncs in between, so its numbers fall behind the offsets by up to a few bytes,
    /// until the next frame.
    pub fn opencsd_index_of(&self, index: u64) -> u64 {
        self.offset_of(index).saturating_sub(u64::from(self.slip_of(index)))
    }

    /// The lag of OpenCSD's index at byte number `index`: `slip` in the run's first frame, none after it.
    pub fn slip_of(&self, index: u64) -> u32 {
        if u64::from(self.lane) + index < LANES { self.slip } else { 0 }
    }

    /// What is left of the run after its first `len` bytes.
    pub fn after(&self, len: u64) -> Self {
        let lane = (u64::from(self.lane) + len) % LANES;
        Self { id: self.id, lane: lane as u8, slip: self.slip_of(len), offset: self.offset_of(len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Run = Run { id: TraceId::from_low_bits(0x10), lane: 13, slip: 3, offset: 0x10d };

    #[test]
    fn offsets_step_over_auxiliary_bytes() {
        let offsets: [u64; 4] = core::array::from_fn(|i| RUN.offset_of(i as u64));
        assert_eq!(offsets, [0x10d, 0x10e, 0x110, 0x111]);
        assert_eq!(RUN.offset_of(2 + 15), 0x120);
        assert_eq!(RUN.offset_of(2 + 15 * 1_000_000), 0x110 + 16_000_000);
    }

    #[test]
    fn the_lag_ends_with_the_first_frame() {
        let indices: [u64; 4] = core::array::from_fn(|i| RUN.opencsd_index_of(i as u64));
        assert_eq!(indices, [0x10a, 0x10b, 0x110, 0x111]);
    }

    #[test]
    fn the_rest_of_a_run_agrees_with_the_whole() {
        for cut in 0..40 {
            let rest = RUN.after(cut);
            for i in 0..40 {
                assert_eq!(rest.offset_of(i), RUN.offset_of(cut + i));
                assert_eq!(rest.opencsd_index_of(i), RUN.opencsd_index_of(cut + i));
            }
        }
    }
}
