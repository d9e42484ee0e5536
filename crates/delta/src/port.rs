//! Packets through a port that may be too slow for them.

use tracewright_core::port::{Buffer, Port, Stats};

use crate::encode::Out;
use crate::packet::{Kind, overflow};

/// Takes packets as far as a port does: whole ones, and after one that did not fit none up to the next sync for which there is room, and
/// for the packet before it that says so.
///
/// Whoever drives the encoder asks for that sync while [`is_lost`](Self::is_lost) says so
/// ([`Encoder::request_sync`](crate::Encoder::request_sync)). After the last packet comes [`finish`](Self::finish).
#[derive(Clone, Debug)]
pub struct AtPort {
    buffer: Buffer,
    is_lost: bool,
    lost_packets: u64,
    lost_bits: u64,
    /// What went through.
    pub bytes: Vec<u8>,
}

impl AtPort {
    /// An empty buffer.
    #[must_use]
    pub fn new(port: Port) -> Self {
        Self { buffer: Buffer::new(port), is_lost: false, lost_packets: 0, lost_bits: 0, bytes: Vec::new() }
    }

    /// What happened at the port. Each time that something did not fit is a loss.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        self.buffer.stats()
    }

    /// Whether packets are being lost.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Packets that were made and lost, and their bits.
    #[must_use]
    pub fn lost(&self) -> (u64, u64) {
        (self.lost_packets, self.lost_bits)
    }

    /// Nothing more comes: the port has all the time it needs to say that something was lost.
    pub fn finish(&mut self) {
        if self.is_lost {
            self.buffer.flush();
            self.is_lost = !self.buffer.take(8 * overflow().len() as u64, 0);
            if !self.is_lost {
                self.bytes.extend_from_slice(&overflow());
            }
        }
    }
}

impl Out for AtPort {
    fn packet(&mut self, cycle: u64, bytes: &[u8]) {
        let bits = 8 * bytes.len() as u64;
        let marker = overflow();
        let with_marker = bits + 8 * marker.len() as u64;
        if self.is_lost
            && bytes.first() == Some(&Kind::Sync.mark())
            && self.buffer.has_room(with_marker, cycle)
        {
            self.is_lost = !self.buffer.take_all(2, with_marker, cycle);
            self.bytes.extend_from_slice(&marker);
        } else if !self.is_lost {
            self.is_lost = !self.buffer.take(bits, cycle);
        }
        if self.is_lost {
            self.lost_packets += 1;
            self.lost_bits += bits;
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }
}
