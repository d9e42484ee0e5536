//! Packets through a port that may be too slow for them.

use tracewright_core::port::{Buffer, Port, Stats};

use crate::encode::Out;
use crate::packet::{Kind, overflow};

/// A buffer and a port between an encoder and a stream.
///
/// Only whole packets pass. After one that did not fit, all are lost until there is room for a sync and for the
/// packet that reports the loss.
///
/// Request that sync ([`Encoder::request_sync`](crate::Encoder::request_sync)) while [`is_lost`](Self::is_lost) is
/// true. After the last packet call [`finish`](Self::finish).
#[derive(Clone, Debug)]
pub struct AtPort {
    buffer: Buffer,
    is_lost: bool,
    lost_packets: u64,
    lost_bits: u64,
    /// Bytes that passed the port.
    pub bytes: Vec<u8>,
}

impl AtPort {
    /// Creates an empty buffer.
    #[must_use]
    pub fn new(port: Port) -> Self {
        Self { buffer: Buffer::new(port), is_lost: false, lost_packets: 0, lost_bits: 0, bytes: Vec::new() }
    }

    /// Returns the statistics of the port. Each time that something did not fit is a loss.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        self.buffer.stats()
    }

    /// Returns whether packets are being lost.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Returns the number of packets that were lost, and their bits.
    #[must_use]
    pub fn lost(&self) -> (u64, u64) {
        (self.lost_packets, self.lost_bits)
    }

    /// Ends the stream. The port has all the time it needs to report a loss.
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
