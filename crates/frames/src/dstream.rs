use crate::{Deframer, FrameSink};

/// Size of a block in bytes.
const BLOCK: u64 = 512;

/// Size of a block without its footer.
const PAYLOAD: u64 = 504;

/// A filter that removes the 8-byte footer of each 512-byte block of a DSTREAM capture, and feeds the rest to a
/// [`Deframer`].
///
/// Offsets remain those of the file, footers included.
#[derive(Clone, Debug, Default)]
pub struct DstreamBlocks {
    /// Position of the next byte in its block.
    at: u64,
}

impl DstreamBlocks {
    /// Creates a filter at the start of a block.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts the next bytes of the capture. At its end, finish only the deframer.
    pub fn feed<S: FrameSink>(&mut self, mut bytes: &[u8], deframer: &mut Deframer, sink: &mut S) {
        while !bytes.is_empty() {
            let is_payload = self.at < PAYLOAD;
            let end = if is_payload { PAYLOAD } else { BLOCK };
            let len = (end - self.at).min(bytes.len() as u64);
            let (piece, rest) = bytes.split_at(len as usize);
            if is_payload {
                deframer.feed(piece, sink);
            } else {
                deframer.skip(len);
            }
            self.at = (self.at + len) % BLOCK;
            bytes = rest;
        }
    }

    /// Returns `offset` less the footers before it, which is how OpenCSD counts. OpenCSD's index of a byte is this
    /// for its [`Run::offset_of`](crate::Run::offset_of), less its [`Run::slip_of`](crate::Run::slip_of).
    pub fn payload_offset(offset: u64) -> u64 {
        offset / BLOCK * PAYLOAD + (offset % BLOCK).min(PAYLOAD)
    }
}
