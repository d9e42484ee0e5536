//! Assembly of bytes into frames, one byte at a time. This module handles the syncs; [`block`](crate::block) handles
//! the contents of frames.

use crate::fsync::{FSYNC, FsyncFinder, HSYNC};
use crate::partial::Partial;
use crate::{Format, Lost, LostReason};

/// Finds frames in the bytes of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Assembler {
    format: Format,
    /// The current, incomplete frame.
    frame: Partial,
    /// Memory-aligned frames: the FSYNCs just before the current frame.
    barrier: Option<Barrier>,
    /// Formats with syncs: why and since when the next FSYNC is searched for.
    search: Option<Loss>,
    finder: FsyncFinder,
    /// Formats with syncs: the first byte of a pair, and its offset.
    first: Option<(u8, u64)>,
    /// Offset of a pair FF FF, which no frame has, but an FSYNC may begin with.
    half_fsync: Option<u64>,
}

/// The result of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing yet.
    More,
    /// A frame is complete. [Take](Assembler::frame) it before the next byte.
    Frame,
    /// Bytes were lost, and the current source is unknown.
    Lost(Lost),
    /// A barrier, which began at this offset, has ended.
    Reset(u64),
}

/// A run of FSYNCs before a memory-aligned frame.
#[derive(Clone, Copy, Debug)]
struct Barrier {
    offset: u64,
    end: u64,
    fsyncs: u64,
}

/// A loss that has begun.
#[derive(Clone, Copy, Debug)]
struct Loss {
    from: u64,
    reason: LostReason,
}

impl Assembler {
    pub(crate) fn new(format: Format, offset: u64) -> Self {
        let search = Loss { from: offset, reason: LostReason::NoSync };
        Self {
            format,
            frame: Partial::default(),
            barrier: None,
            search: (format != Format::Aligned).then_some(search),
            finder: FsyncFinder::default(),
            first: None,
            half_fsync: None,
        }
    }

    /// Returns whether the next byte begins a frame or a sync and nothing is pending. Only then may frames and FSYNCs
    /// bypass [`push`](Self::push), and [`passed`](Self::passed) must be called.
    pub(crate) fn between_frames(&self) -> bool {
        self.start().is_none() && self.search.is_none() && self.barrier.is_none()
    }

    /// Reports that frames or FSYNCs bypassed the assembler, with their last byte.
    pub(crate) fn passed(&mut self, byte: u8, offset: u64) {
        self.finder.clear();
        self.finder.push(byte, offset);
    }

    pub(crate) fn push(&mut self, byte: u8, offset: u64) -> Step {
        match self.format {
            Format::Aligned => self.push_aligned(byte, offset),
            Format::Fsync | Format::FsyncHsync => self.push_synced(byte, offset),
        }
    }

    pub(crate) fn frame(&mut self) -> &mut Partial {
        &mut self.frame
    }

    /// Ends the stream at `end`. Repeat until the result is [`More`](Step::More).
    pub(crate) fn finish(&mut self, end: u64) -> Step {
        if let Some(barrier) = self.barrier.take() {
            return barrier.step();
        }
        let rest = self.start().map(|from| Loss { from, reason: LostReason::Truncated });
        let lost = self.search.or(rest).map(|loss| loss.until(end)).filter(|lost| lost.len > 0);
        *self = Self::new(self.format, end);
        lost.map_or(Step::More, Step::Lost)
    }

    /// Returns where the current frame or sync begins.
    fn start(&self) -> Option<u64> {
        self.frame.offset().or(self.half_fsync).or(self.first.map(|(_, offset)| offset))
    }

    fn push_aligned(&mut self, byte: u8, offset: u64) -> Step {
        self.frame.push(byte, offset);
        match *self.frame.bytes() {
            [a, b, c, d] if [a, b, c, d] == FSYNC => {
                let start = self.frame.offset().unwrap_or(offset);
                let barrier = self.barrier.get_or_insert(Barrier { offset: start, end: 0, fsyncs: 0 });
                barrier.fsyncs += 1;
                barrier.end = offset + 1;
                self.frame.clear();
                Step::More
            }
            [_, _, _, _] => self.barrier.take().map_or(Step::More, Barrier::step),
            ref frame if frame.len() < 16 => Step::More,
            ref frame if frame.iter().step_by(2).any(|&byte| byte == 0xff) => {
                let from = self.frame.offset().unwrap_or(offset);
                self.frame.clear();
                Step::Lost(Loss { from, reason: LostReason::ReservedId }.until(offset + 1))
            }
            _ => Step::Frame,
        }
    }

    fn push_synced(&mut self, byte: u8, offset: u64) -> Step {
        let fsync = self.finder.push(byte, offset);
        if self.search.is_none() {
            let start = self.start().unwrap_or(offset);
            if let Some(step) = self.push_pair(byte, offset) {
                return step;
            }
            // This is not a frame. Search for the next FSYNC. This very byte may complete one at an odd position.
            self.search = Some(Loss { from: start, reason: LostReason::ReservedId });
            self.frame.clear();
            self.half_fsync = None;
        }
        let Some(fsync) = fsync else { return Step::More };
        match self.search.take() {
            Some(loss) if loss.from != fsync => Step::Lost(loss.until(fsync)),
            _ => Step::More,
        }
    }

    /// Accepts a byte of a stream in sync. Returns `None` if it fits neither a frame nor a sync. Both consist of
    /// pairs of bytes, and a pair that begins with FF is never part of a frame.
    fn push_pair(&mut self, byte: u8, offset: u64) -> Option<Step> {
        let Some((first, first_offset)) = self.first.take() else {
            if self.half_fsync.is_some() && byte != 0xff {
                return None;
            }
            self.first = Some((byte, offset));
            return Some(Step::More);
        };
        match ([first, byte], self.half_fsync) {
            ([0xff, 0xff], None) => self.half_fsync = Some(first_offset),
            (HSYNC, Some(fsync)) => {
                self.half_fsync = None;
                let cut = self.frame.offset().map(|from| Loss { from, reason: LostReason::CutFrame });
                self.frame.clear();
                return Some(cut.map_or(Step::More, |cut| Step::Lost(cut.until(fsync))));
            }
            (HSYNC, None) if self.format == Format::FsyncHsync => self.frame.skip_half_sync(),
            ([0xff, _], _) => return None,
            _ => {
                self.frame.push(first, first_offset);
                self.frame.push(byte, offset);
                return Some(if self.frame.complete().is_some() { Step::Frame } else { Step::More });
            }
        }
        Some(Step::More)
    }
}

impl Barrier {
    /// Returns what the barrier means, now that it has ended.
    fn step(self) -> Step {
        // The FSYNCs fill whole frames.
        if self.fsyncs.is_multiple_of(4) {
            return Step::Reset(self.offset);
        }
        Step::Lost(Loss { from: self.offset, reason: LostReason::StraySync }.until(self.end))
    }
}

impl Loss {
    /// Returns the loss, now that it has ended at `end`. The FSYNC that ends it may have begun before it, at an odd
    /// position: then the frame before took the FSYNC's first byte for its own last one.
    fn until(self, end: u64) -> Lost {
        Lost { offset: self.from, len: end.saturating_sub(self.from), reason: self.reason }
    }
}
