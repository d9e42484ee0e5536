use alloc::vec::Vec;

use tracewright_core::TraceId;

use crate::{FrameSink, Lost, OffsetMap, Run};

/// A [`FrameSink`] that collects the bytes of each source in one contiguous buffer.
///
/// Feed some input, read the streams, [clear](Self::clear), and repeat. Buffers are reused,
/// and memory is bounded by what is fed between two clears.
#[derive(Clone, Debug)]
pub struct Demux {
    streams: Vec<Stream>,
    breaks: Vec<Break>,
}

/// The bytes of one source, and their origin.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// The bytes collected.
    pub bytes: Vec<u8>,
    /// Origin of the bytes. Positions count from the first byte that the source ever had: see [`start`](Self::start).
    pub offsets: OffsetMap,
}

/// An interruption of the streams of all sources. It comes before the bytes whose file offset is greater than its
/// own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Bytes were lost. See [`FrameSink::lost`].
    Lost(Lost),
    /// A barrier at this offset. See [`FrameSink::reset`].
    Reset(u64),
}

impl Demux {
    /// Creates a collection without streams.
    pub fn new() -> Self {
        Self { streams: (0..0x80).map(|_| Stream::default()).collect(), breaks: Vec::new() }
    }

    /// Returns the sources that have bytes, in the order of their IDs.
    pub fn streams(&self) -> impl Iterator<Item = (TraceId, &Stream)> {
        let ids = (0..).map(TraceId::from_low_bits);
        ids.zip(&self.streams).filter(|(_, stream)| !stream.bytes.is_empty())
    }

    /// Returns the interruptions of all streams, in the order of the file.
    pub fn breaks(&self) -> &[Break] {
        &self.breaks
    }

    /// Discards what was collected and keeps the memory. Positions keep counting.
    pub fn clear(&mut self) {
        for stream in &mut self.streams {
            stream.bytes.clear();
            stream.offsets.restart(stream.offsets.end());
        }
        self.breaks.clear();
    }
}

impl Default for Demux {
    fn default() -> Self {
        Self::new()
    }
}

impl Stream {
    /// Returns the position of the first collected byte in the whole stream of the source.
    pub fn start(&self) -> u64 {
        self.offsets.end() - self.bytes.len() as u64
    }
}

impl FrameSink for Demux {
    fn data(&mut self, run: Run, bytes: &[u8]) {
        if let Some(stream) = self.streams.get_mut(usize::from(run.id.get())) {
            stream.bytes.extend_from_slice(bytes);
            stream.offsets.push(run, bytes.len() as u64);
        }
    }

    fn lost(&mut self, lost: Lost) {
        self.breaks.push(Break::Lost(lost));
    }

    fn reset(&mut self, offset: u64) {
        self.breaks.push(Break::Reset(offset));
    }
}
