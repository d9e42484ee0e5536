use alloc::vec::Vec;
use core::mem;

use tracewright_core::TraceId;

use crate::{Lost, OffsetMap, Run, Sink};

/// A [`Sink`] that collects each source's bytes in one contiguous buffer.
///
/// Feed some input, look at or [swap](Self::swap) out the streams, [clear](Self::clear), feed on: buffers are
/// reused, and memory is bounded by what is fed between two clears.
#[derive(Clone, Debug)]
pub struct Demux {
    /// By ID.
    streams: Vec<Stream>,
    breaks: Vec<Break>,
}

/// The bytes of one source, and where they came from.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// The bytes collected.
    pub bytes: Vec<u8>,
    /// Where they came from. Positions count from the first byte the source ever had, see
    /// [`start`](Self::start).
    pub offsets: OffsetMap,
}

/// Something that interrupts the streams of all sources. It lies before the bytes whose file offset is
/// greater than its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Bytes were lost; see [`Sink::lost`].
    Lost(Lost),
    /// A barrier at this offset; see [`Sink::reset`].
    Reset(u64),
}

impl Demux {
    /// Without any streams.
    pub fn new() -> Self {
        Self { streams: (0..0x80).map(|_| Stream::default()).collect(), breaks: Vec::new() }
    }

    /// The sources that have bytes, in the order of their IDs.
    pub fn streams(&self) -> impl Iterator<Item = (TraceId, &Stream)> {
        let ids = (0..).map(TraceId::from_low_bits);
        ids.zip(&self.streams).filter(|(_, stream)| !stream.bytes.is_empty())
    }

    /// What interrupted all streams, in the order of the file.
    pub fn breaks(&self) -> &[Break] {
        &self.breaks
    }

    /// Takes what was collected of one source, and leaves the memory of `stream`, emptied, in its place.
    pub fn swap(&mut self, id: TraceId, stream: &mut Stream) {
        if let Some(own) = self.streams.get_mut(usize::from(id.get())) {
            stream.bytes.clear();
            stream.offsets.restart(own.offsets.end());
            mem::swap(own, stream);
        }
    }

    /// Forgets what was collected and keeps the memory. Positions go on counting.
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
    /// Position of the first byte here in the source's whole stream.
    pub fn start(&self) -> u64 {
        self.offsets.end() - self.bytes.len() as u64
    }
}

impl Sink for Demux {
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
