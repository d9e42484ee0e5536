use tracewright_core::TraceId;

/// Maximum number of data bytes in a frame: all but the auxiliary byte.
pub(crate) const LANES: u64 = 15;

/// The origin of consecutive bytes of one source.
///
/// The bytes of a run are adjacent in the file, except that the auxiliary byte of each 16-byte frame is skipped.
/// Anything else in between (an ID byte, a sync, a container's footer) ends the run, so that the file offset of each
/// byte follows from that of the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Source of the bytes.
    pub id: TraceId,
    /// Position of the first byte in its frame, 0 to 14. Frames need not be aligned in the file.
    pub lane: u8,
    /// Lag of OpenCSD's index behind the file offset, in the first frame of the run. See
    /// [`opencsd_index_of`](Self::opencsd_index_of).
    pub slip: u32,
    /// File offset of the first byte.
    pub offset: u64,
}

impl Run {
    /// Creates the run of a byte that no byte of the file continues: one of a serial line.
    pub fn single(id: TraceId, offset: u64) -> Self {
        Self { id, lane: LANES as u8 - 1, slip: 0, offset }
    }

    /// Returns the file offset of byte `index` of the run.
    pub fn offset_of(&self, index: u64) -> u64 {
        self.offset + index + (u64::from(self.lane) + index) / LANES
    }

    /// Returns the `Idx` that OpenCSD's tools print for byte `index` of the run.
    ///
    /// OpenCSD splits a frame into groups, one for each change of source. It numbers the bytes of a group upward from
    /// the offset of the frame (first group) or of the ID byte (later groups). It does not count the ID bytes and
    /// half syncs in between, so its numbers lag behind the offsets by up to a few bytes until the next frame.
    pub fn opencsd_index_of(&self, index: u64) -> u64 {
        self.offset_of(index).saturating_sub(u64::from(self.slip_of(index)))
    }

    /// Returns the lag of OpenCSD's index at byte `index`: `slip` in the first frame of the run, and 0 afterwards.
    pub fn slip_of(&self, index: u64) -> u32 {
        if u64::from(self.lane) + index < LANES { self.slip } else { 0 }
    }

    /// Returns the run without its first `len` bytes.
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
