//! The inner loop: splits a block of whole frames, adjacent in the file, into segments of one source each.
//!
//! There are two passes. The first restores the auxiliary bits of the even bytes and lays the lanes of the frames end
//! to end, whatever they hold. It only notes which frames have ID bytes. The second pass visits just those frames,
//! and cuts the lanes into segments at the ID bytes. Most frames have no ID bytes: they cost a handful of word
//! operations and no branch that depends on the data.

use core::fmt;

use tracewright_core::TraceId;

/// Frames in a block: enough to make runs long, few enough for the first-level cache.
const FRAMES: usize = 512;

/// Lanes of a frame: all its bytes but the auxiliary byte.
const LANES: usize = 15;

/// Bit 0 of the even bytes in half a frame: set in an ID byte, moved to the auxiliary byte in a data byte.
const EVEN_BIT0: u64 = 0x0001_0001_0001_0001;

/// The auxiliary bits at their places, in the first and the second half of a frame.
static AUXILIARY: [[u64; 2]; 256] = {
    let mut table = [[0; 2]; 256];
    let mut aux = 0;
    while aux < 256 {
        table[aux] = [spread(aux as u64 & 0xf), spread(aux as u64 >> 4)];
        aux += 1;
    }
    table
};

/// Lanes of one source that no ID byte interrupts.
pub(crate) struct Segment<'a> {
    /// Source, or `None` if there was no ID yet.
    pub(crate) source: Option<TraceId>,
    pub(crate) offset: u64,
    pub(crate) lane: u8,
    /// See [`Run::slip`](crate::Run::slip).
    pub(crate) slip: u32,
    /// Restored bytes. May be empty.
    pub(crate) bytes: &'a [u8],
}

/// A buffer for a block of unpacked frames.
#[derive(Clone)]
pub(crate) struct Block {
    /// The lanes, ID bytes included. One more than needed, since frames are written with their auxiliary byte.
    lanes: [u8; FRAMES * LANES + 1],
    /// Numbers of the frames that have ID bytes.
    marks: [u16; FRAMES],
}

/// The filled part of a block.
#[derive(Clone, Copy, Default)]
struct Filled {
    frames: usize,
    marks: usize,
}

impl Block {
    pub(crate) const fn new() -> Self {
        Self { lanes: [0; FRAMES * LANES + 1], marks: [0; FRAMES] }
    }

    /// Passes the segments of the first frames to `emit`, in order. Stops when the block is full, and before a frame
    /// with FF at an even position, which is a sync or not a frame at all. Returns the number of frames that were
    /// split.
    ///
    /// `offset` is the file offset of the first frame. `source` is the source before it, and is updated to that after
    /// the last frame split.
    pub(crate) fn split(
        &mut self,
        frames: &[[u8; 16]],
        offset: u64,
        source: &mut Option<TraceId>,
        emit: impl FnMut(&Segment<'_>),
    ) -> usize {
        let filled = self.unpack(frames);
        if filled.frames > 0 {
            self.cut(filled, frames, offset, source, emit);
        }
        filled.frames
    }

    fn unpack(&mut self, frames: &[[u8; 16]]) -> Filled {
        let mut filled = Filled::default();
        for four in frames.as_chunks::<4>().0 {
            if !self.append(four, &mut filled) {
                break;
            }
        }
        for frame in &frames[filled.frames..] {
            if !self.append(&[*frame], &mut filled) {
                break;
            }
        }
        filled
    }

    /// Unpacks all of these frames, or none. A few at a time are faster, since the checks are made once for all.
    fn append<const N: usize>(&mut self, frames: &[[u8; 16]; N], filled: &mut Filled) -> bool {
        let frames = frames.map(halves);
        let ff = frames.iter().flatten().fold(0, |ff, half| ff | even_ff(*half));
        let at = filled.frames * LANES;
        let lanes = self.lanes.get_mut(at..at + N * LANES + 1);
        let (0, Some(lanes), Some(marks)) = (ff, lanes, self.marks.get_mut(filled.marks..)) else {
            return false;
        };
        let mut marked = 0;
        for (number, [low, high]) in frames.into_iter().enumerate() {
            let aux = AUXILIARY[usize::from((high >> 56) as u8)];
            let lanes = &mut lanes[number * LANES..][..16];
            lanes[..8].copy_from_slice(&(low | aux[0]).to_le_bytes());
            lanes[8..].copy_from_slice(&(high | aux[1]).to_le_bytes());
            // Written always, but kept only if there is an ID byte: no branch to mispredict.
            if let Some(mark) = marks.get_mut(marked) {
                *mark = (filled.frames + number) as u16;
            }
            marked += usize::from((low | high) & EVEN_BIT0 != 0);
        }
        filled.frames += N;
        filled.marks += marked;
        true
    }

    fn cut(
        &self,
        filled: Filled,
        frames: &[[u8; 16]],
        offset: u64,
        source: &mut Option<TraceId>,
        mut emit: impl FnMut(&Segment<'_>),
    ) {
        // The current segment has source `source`, begins at this lane and place, and ends at the next ID byte.
        let mut start = 0;
        let mut place = Place { offset, lane: 0, slip: 0 };
        for &number in &self.marks[..filled.marks] {
            let first = usize::from(number) * LANES;
            let frame = frames[usize::from(number)];
            let frame_offset = offset + 16 * u64::from(number);
            let [low, high] = halves(frame);
            let mut ids = gather(low) | gather(high) << 4;
            let mut groups = Groups::default();
            while ids != 0 {
                let lane = 2 * ids.trailing_zeros() as u8;
                let at = first + usize::from(lane);
                emit(&place.segment(*source, &self.lanes[start..at]));

                let id = TraceId::from_low_bits(self.lanes[at] >> 1);
                let changes = *source != Some(id);
                // After lane 14, no byte is left that could belong to the old source.
                let delayed = changes && lane < 14 && frame[15] >> (lane / 2) & 1 == 1;
                if delayed {
                    let place = Place::new(frame_offset, lane + 1, groups.slip + 1);
                    emit(&place.segment(*source, &self.lanes[at + 1..at + 2]));
                }
                groups.id_byte(lane, changes, delayed);
                *source = Some(id);
                start = at + 1 + usize::from(delayed);
                place = Place::new(frame_offset, lane + 1 + u8::from(delayed), groups.slip);
                ids &= ids - 1;
            }
        }
        emit(&place.segment(*source, &self.lanes[start..filled.frames * LANES]));
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").finish_non_exhaustive()
    }
}

/// The position where a segment begins.
struct Place {
    offset: u64,
    lane: u8,
    slip: u8,
}

impl Place {
    /// Creates a place in the frame at `frame`. A place after the last lane is the first lane of the next frame.
    fn new(frame: u64, lane: u8, slip: u8) -> Self {
        if usize::from(lane) < LANES {
            Self { offset: frame + u64::from(lane), lane, slip }
        } else {
            Self { offset: frame + 16, lane: 0, slip: 0 }
        }
    }

    fn segment<'a>(&self, source: Option<TraceId>, bytes: &'a [u8]) -> Segment<'a> {
        Segment { source, offset: self.offset, lane: self.lane, slip: u32::from(self.slip), bytes }
    }
}

/// The state of OpenCSD's numbering of the bytes in a frame. See
/// [`Run::opencsd_index_of`](crate::Run::opencsd_index_of).
#[derive(Default)]
struct Groups {
    /// Lane minus OpenCSD's index, of the next data byte.
    slip: u8,
    /// Only lane at which the group is still empty, so that a change of source only renames it. A data byte follows
    /// each ID byte, so it is the first lane of the frame, or the one after a delayed change.
    empty_at: u8,
}

impl Groups {
    /// Passes an ID byte, and the byte after it if the change is delayed.
    fn id_byte(&mut self, lane: u8, changes: bool, delayed: bool) {
        if delayed {
            // The byte after the ID byte went to the old group. A new group starts, numbered from the ID byte.
            self.slip = 2;
            self.empty_at = lane + 2;
        } else if changes && lane != self.empty_at {
            self.slip = 1;
        } else {
            self.slip += 1;
        }
    }
}

/// Returns a frame as two words.
fn halves(frame: [u8; 16]) -> [u64; 2] {
    let word = u128::from_le_bytes(frame);
    [word as u64, (word >> 64) as u64]
}

/// Returns a value other than 0 if an even byte is FF. Only then does adding 1 to each carry into the odd byte.
fn even_ff(half: u64) -> u64 {
    ((half & (0xff * EVEN_BIT0)) + EVEN_BIT0) & (0x100 * EVEN_BIT0)
}

/// Moves bit k of four bits to bit 16k. The product holds copies of them 15 bits apart, so that bit k of copy k is at
/// its place. No two copies overlap.
const fn spread(bits: u64) -> u64 {
    bits.wrapping_mul(1 | 1 << 15 | 1 << 30 | 1 << 45) & EVEN_BIT0
}

/// Reverses [`spread`]: moves bit 16k to bit k. The product moves bit 16k to bit 48 + k. No two terms meet.
fn gather(half: u64) -> u8 {
    ((half & EVEN_BIT0).wrapping_mul(1 << 48 | 1 << 33 | 1 << 18 | 1 << 3) >> 48) as u8 & 0xf
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_and_gather_are_inverse() {
        for bits in 0..16 {
            let spread = spread(bits);
            for k in 0..4 {
                assert_eq!(spread >> (16 * k) & 0xffff, bits >> k & 1);
            }
            assert_eq!(u64::from(gather(spread)), bits);
            assert_eq!(u64::from(gather(spread | !EVEN_BIT0)), bits);
        }
    }

    #[test]
    fn even_ff_is_found_and_nothing_else() {
        for byte in 0..8 {
            for value in 0..=255_u64 {
                let expected = byte % 2 == 0 && value == 0xff;
                assert_eq!(even_ff(value << (8 * byte)) != 0, expected);
                let others = 0xfffe_fffe_fffe_fffe & !(0xff << (8 * byte));
                assert_eq!(even_ff(others | value << (8 * byte)) != 0, expected);
            }
        }
    }

    #[test]
    fn a_block_takes_no_more_than_it_can_hold() {
        for surplus in 0..6 {
            let frames = [[0x21; 16]; FRAMES + 5];
            let done = Block::new().split(&frames[..FRAMES + surplus], 0, &mut None, |_| ());
            assert_eq!(done, FRAMES);
        }
    }
}
