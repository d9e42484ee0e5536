use core::slice;

use tracewright_core::TraceId;

use crate::Sink;
use crate::assembler::{Assembler, Step};
use crate::block::{Block, Segment};
use crate::delivery::Delivery;
use crate::fsync::FSYNC;

/// How frames follow one another in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Every 16 bytes are a frame, as trace buffers in memory have it (ETB, ETR). FSYNCs that fill whole
    /// frames are a barrier, see [`Sink::reset`].
    Aligned,
    /// Any number of FSYNCs (`FF FF FF 7F`) between frames, as a trace port (TPIU) sends them. What comes
    /// before the first one is lost.
    Fsync,
    /// As [`Fsync`](Self::Fsync), with half syncs (`FF 7F`) anywhere between two pairs of bytes.
    FsyncHsync,
}

/// Takes a formatted stream apart: 16-byte frames in, the bytes of each source out.
///
/// Input may be cut into pieces anywhere. Damage is reported to the sink and never stops the deframer: it
/// goes on with the next frame ([`Format::Aligned`]) or the next FSYNC (the others), and with the data of a
/// known source after the next ID byte. Memory is constant, and none is allocated.
#[derive(Clone, Debug)]
pub struct Deframer {
    format: Format,
    /// File offset of the next byte.
    offset: u64,
    /// The source that the next data byte belongs to.
    source: Option<TraceId>,
    assembler: Assembler,
    delivery: Delivery,
    block: Block,
}

impl Deframer {
    /// For a stream of this format, from file offset 0.
    pub fn new(format: Format) -> Self {
        Self::starting_at(format, 0)
    }

    /// For a stream of this format, from a file offset on: of memory-aligned frames a multiple of 16. Whose the bytes
    /// before the first ID are is not known, then.
    pub fn starting_at(format: Format, offset: u64) -> Self {
        Self {
            format,
            offset,
            source: None,
            assembler: Assembler::new(format, offset),
            delivery: Delivery::default(),
            block: Block::new(),
        }
    }

    /// Takes the next bytes of the stream.
    pub fn feed<S: Sink>(&mut self, mut bytes: &[u8], sink: &mut S) {
        while let Some((&byte, rest)) = bytes.split_first() {
            if self.assembler.between_frames() {
                let passed = self.pass(bytes, sink);
                if let Some((&[.., last], rest)) = bytes.split_at_checked(passed) {
                    self.offset += passed as u64;
                    self.assembler.passed(last, self.offset - 1);
                    bytes = rest;
                    continue;
                }
            }
            let step = self.assembler.push(byte, self.offset);
            self.offset += 1;
            self.step(step, sink);
            bytes = rest;
        }
    }

    /// Ends the stream: reports what is still pending. What is fed after this begins anew, at the next
    /// offset.
    pub fn finish<S: Sink>(&mut self, sink: &mut S) {
        loop {
            let step = self.assembler.finish(self.offset);
            self.step(step, sink);
            if step == Step::More {
                break;
            }
        }
        self.delivery.flush(sink);
        self.source = None;
    }

    /// Forgets everything, as if new; what is pending is not reported.
    pub fn reset(&mut self) {
        self.offset = 0;
        self.source = None;
        self.assembler = Assembler::new(self.format, 0);
        self.delivery = Delivery::default();
    }

    /// File offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many bytes of the null source, padding, were dropped.
    pub fn padding(&self) -> u64 {
        self.delivery.padding()
    }

    /// Passes over bytes of the file that are not part of the stream.
    pub(crate) fn skip(&mut self, len: u64) {
        self.offset += len;
    }

    /// The fast path: takes an FSYNC or a block of whole frames that have no syncs inside. Returns the number
    /// of bytes taken, 0 if there is neither.
    fn pass<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> usize {
        if self.format != Format::Aligned && bytes.starts_with(&FSYNC) {
            return FSYNC.len();
        }
        let emit = |segment: &Segment<'_>| self.delivery.segment(segment, sink);
        16 * self.block.split(bytes.as_chunks().0, self.offset, &mut self.source, emit)
    }

    fn step<S: Sink>(&mut self, step: Step, sink: &mut S) {
        match step {
            Step::More => {}
            Step::Frame => self.frame(sink),
            Step::Lost(lost) => {
                self.source = None;
                self.delivery.lose(lost, sink);
            }
            Step::Reset(offset) => {
                self.source = None;
                self.delivery.flush(sink);
                sink.reset(offset);
            }
        }
    }

    /// Takes the frame that the assembler has completed.
    fn frame<S: Sink>(&mut self, sink: &mut S) {
        let frame = self.assembler.frame();
        if let (Some(offset), Some(bytes)) = (frame.offset(), frame.complete()) {
            let frames = slice::from_ref(bytes);
            if frame.is_whole() {
                let emit = |segment: &Segment<'_>| self.delivery.segment(segment, sink);
                self.block.split(frames, offset, &mut self.source, emit);
            } else {
                self.block.split(frames, 0, &mut self.source, |segment| {
                    frame.place(segment, |piece| self.delivery.segment(piece, sink));
                });
            }
        }
        frame.clear();
    }
}
