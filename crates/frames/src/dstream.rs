use crate::{Deframer, Sink};

/// Bytes of a block.
const BLOCK: u64 = 512;

/// Bytes of a block before its footer.
const PAYLOAD: u64 = 504;

/// Removes the 8-byte footers from a DSTREAM capture, in which each 512-byte block has one, and feeds the
/// rest to a [`Deframer`].
///
/// Offsets stay those of the file, footers counted.
#[derive(Clone, Debug, Default)]
pub struct DstreamBlocks {
    /// Position of the next byte in its block.
    at: u64,
}

impl DstreamBlocks {
    /// At the start of a block.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the capture. Its end needs no telling here, only to the deframer.
    pub fn feed<S: Sink>(&mut self, mut bytes: &[u8], deframer: &mut Deframer, sink: &mut S) {
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

    /// Where `offset` would be if the footers were cut out of the file, which is how OpenCSD counts: its
    /// index of a run's byte is this of [`Run::offset_of`](crate::Run::offset_of), less
    /// [`Run::slip_of`](crate::Run::slip_of).
    pub fn payload_offset(offset: u64) -> u64 {
        offset / BLOCK * PAYLOAD + (offset % BLOCK).min(PAYLOAD)
    }
}
