use core::slice;

use tracewright_core::TraceId;

use crate::FrameSink;
use crate::assembler::{Assembler, Step};
use crate::block::{Block, Segment};
use crate::delivery::Delivery;
use crate::fsync::FSYNC;

/// The arrangement of frames in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Every 16 bytes are a frame, as in trace buffers in memory (ETB, ETR). FSYNCs that fill whole frames are a
    /// barrier: see [`FrameSink::reset`].
    Aligned,
    /// Any number of FSYNCs (`FF FF FF 7F`) may be between frames, as a trace port (TPIU) sends them. All bytes
    /// before the first FSYNC are lost.
    Fsync,
    /// As [`Fsync`](Self::Fsync), with half syncs (`FF 7F`) between any two pairs of bytes.
    FsyncHsync,
}

/// A decoder of formatted streams: 16-byte frames in, the bytes of each source out.
///
/// The input may be split anywhere. Damage is reported to the sink and never stops the deframer: it resumes with the
/// next frame ([`Format::Aligned`]) or the next FSYNC (other formats), and with the data of a known source after the
/// next ID byte. Memory is constant, and none is allocated.
#[derive(Clone, Debug)]
pub struct Deframer {
    format: Format,
    /// File offset of the next byte.
    offset: u64,
    /// Source of the next data byte.
    source: Option<TraceId>,
    assembler: Assembler,
    delivery: Delivery,
    block: Block,
}

impl Deframer {
    /// Creates a deframer for a stream that begins at file offset 0.
    pub fn new(format: Format) -> Self {
        Self::starting_at(format, 0)
    }

    /// Creates a deframer for the part of a stream that begins at `offset`: for memory-aligned frames, a multiple of
    /// 16. The source of bytes before the first ID byte is not known.
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

    /// Accepts the next bytes of the stream.
    pub fn feed<S: FrameSink>(&mut self, mut bytes: &[u8], sink: &mut S) {
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

    /// Ends the stream and reports pending losses. Bytes fed afterwards begin a new stream at the next offset.
    pub fn finish<S: FrameSink>(&mut self, sink: &mut S) {
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

    /// Resets to the initial state. Pending losses are discarded.
    pub fn reset(&mut self) {
        self.offset = 0;
        self.source = None;
        self.assembler = Assembler::new(self.format, 0);
        self.delivery = Delivery::default();
    }

    /// Returns the file offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns how many bytes of the null source (padding) were dropped.
    pub fn padding(&self) -> u64 {
        self.delivery.padding()
    }

    /// Skips bytes of the file that are not part of the stream.
    pub fn skip(&mut self, len: u64) {
        self.offset += len;
    }

    /// Accepts an FSYNC or a block of whole frames without syncs inside: the fast path. Returns the number of bytes
    /// accepted, or 0 if there is neither.
    fn pass<S: FrameSink>(&mut self, bytes: &[u8], sink: &mut S) -> usize {
        if self.format != Format::Aligned && bytes.starts_with(&FSYNC) {
            return FSYNC.len();
        }
        let emit = |segment: &Segment<'_>| self.delivery.segment(segment, sink);
        16 * self.block.split(bytes.as_chunks().0, self.offset, &mut self.source, emit)
    }

    fn step<S: FrameSink>(&mut self, step: Step, sink: &mut S) {
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

    /// Splits the frame that the assembler has completed.
    fn frame<S: FrameSink>(&mut self, sink: &mut S) {
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
