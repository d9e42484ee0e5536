use alloc::vec::Vec;
use core::fmt;
use core::num::NonZero;

use tracewright_core::TraceId;

use crate::fsync::{FSYNC, HSYNC};

/// The syncs that a [`Framer`] emits. The default is none, which makes memory-aligned frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Number of frames per FSYNC. One comes before the first frame, too ([`Format::Fsync`](crate::Format::Fsync)).
    /// The frame after an FSYNC begins with an ID byte, so that a decoder that starts there knows the source.
    pub fsync_every: Option<NonZero<u32>>,
    /// Number of pairs of frame bytes per half sync ([`Format::FsyncHsync`](crate::Format::FsyncHsync)). There is
    /// none right after the last pair of a frame, where OpenCSD does not expect it. Without `fsync_every`, there is
    /// still one FSYNC at the start, which a decoder needs.
    pub hsync_every: Option<NonZero<u32>>,
}

/// An encoder that merges the bytes of several sources into one formatted stream: the reverse of a
/// [`Deframer`](crate::Deframer).
#[derive(Clone, Debug)]
pub struct Framer {
    options: Options,
    /// Current frame. Its last byte holds the auxiliary bits.
    frame: [u8; 16],
    /// Number of lanes of the current frame that are filled.
    lane: usize,
    /// Source to which a decoder will assign the next data byte.
    source: Option<TraceId>,
    /// Frames until the next FSYNC, or `None` if there is no other.
    frames_to_fsync: Option<u32>,
    pairs_to_hsync: u32,
}

/// An error: ID 0x7F cannot be framed, since its ID byte is FF, which is reserved for syncs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedId;

impl Framer {
    /// Creates an empty stream.
    pub fn new(options: Options) -> Self {
        let synced = options != Options::default();
        Self {
            options,
            frame: [0; 16],
            lane: 0,
            source: None,
            frames_to_fsync: synced.then_some(0),
            pairs_to_hsync: options.hsync_every.map_or(0, NonZero::get),
        }
    }

    /// Appends bytes of one source. Complete frames are appended to `out`. Bytes of the null source are padding,
    /// which a deframer drops.
    ///
    /// # Errors
    /// If the ID is 0x7F. Nothing is appended then.
    pub fn push(&mut self, id: TraceId, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<(), ReservedId> {
        if id.get() == 0x7f {
            return Err(ReservedId);
        }
        while let Some((&byte, rest)) = bytes.split_first() {
            // An FSYNC requires the ID again, even right after an ID byte in the last lane of a frame.
            while self.source != Some(id) {
                self.switch(id, out);
            }
            bytes = if let (0, Some((lanes, rest))) = (self.lane, bytes.split_first_chunk()) {
                self.whole(lanes, out);
                rest
            } else {
                self.data(byte, out);
                rest
            };
        }
        Ok(())
    }

    /// Pads the current frame with the null source and emits it. Does nothing if no frame was begun.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        if self.lane > 0 {
            self.switch(TraceId::NULL, out);
        }
        while self.lane > 0 {
            self.data(0, out);
        }
    }

    /// Emits an ID byte.
    fn switch(&mut self, id: TraceId, out: &mut Vec<u8>) {
        let id_byte = id.get() << 1 | 1;
        self.source = Some(id);
        if self.lane.is_multiple_of(2) {
            self.place(id_byte, out);
            return;
        }
        // ID bytes are in even lanes only. The previous even lane holds data, since data follows each ID byte. Its
        // byte moves up, and an ID byte with the auxiliary bit set takes its place: the change of source is delayed
        // by one byte.
        let even = self.lane - 1;
        let aux = 1 << (even / 2);
        let moved = self.frame[even] | u8::from(self.frame[15] & aux != 0);
        self.frame[even] = id_byte;
        self.frame[15] |= aux;
        self.place(moved, out);
    }

    fn data(&mut self, byte: u8, out: &mut Vec<u8>) {
        if self.lane.is_multiple_of(2) {
            self.frame[15] |= (byte & 1) << (self.lane / 2);
            self.place(byte & !1, out);
        } else {
            self.place(byte, out);
        }
    }

    /// Emits a frame of one source's data.
    fn whole(&mut self, lanes: &[u8; 15], out: &mut Vec<u8>) {
        let (frame, aux) = self.frame.split_at_mut(15);
        frame.copy_from_slice(lanes);
        for (k, even) in frame.iter_mut().step_by(2).enumerate() {
            aux[0] |= (*even & 1) << k;
            *even &= !1;
        }
        self.write(out);
    }

    /// Fills the next lane, and emits the frame if it was the last one.
    fn place(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.frame[self.lane] = byte;
        self.lane += 1;
        if self.lane == 15 {
            self.write(out);
        }
    }

    /// Emits the frame, with the syncs that are due before it and inside.
    fn write(&mut self, out: &mut Vec<u8>) {
        if self.frames_to_fsync == Some(0) {
            out.extend_from_slice(&FSYNC);
            self.frames_to_fsync = self.options.fsync_every.map(NonZero::get);
        }
        match self.options.hsync_every {
            None => out.extend_from_slice(&self.frame),
            Some(every) => {
                for (number, pair) in self.frame.as_chunks::<2>().0.iter().enumerate() {
                    out.extend_from_slice(pair);
                    self.pairs_to_hsync = self.pairs_to_hsync.saturating_sub(1);
                    if self.pairs_to_hsync == 0 && number < 7 {
                        out.extend_from_slice(&HSYNC);
                        self.pairs_to_hsync = every.get();
                    }
                }
            }
        }
        self.frame = [0; 16];
        self.lane = 0;
        if let Some(frames) = &mut self.frames_to_fsync {
            *frames -= 1;
            if *frames == 0 {
                self.source = None;
            }
        }
    }
}

impl fmt::Display for ReservedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("source ID 0x7f is reserved and cannot be framed")
    }
}

impl core::error::Error for ReservedId {}
