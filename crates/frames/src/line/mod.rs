//! Bytes of a serial line that a logic analyser sampled: decoding and encoding.
//!
//! The line is Serial Wire Output, which has two encodings (CoreSight Components TRM, Arm DDI 0314H, 11.11.2):
//!
//! * UART (NRZ): the idle line is high; a character is a low start bit, eight bits and a high stop bit.
//! * Manchester: the idle line is low; a bit is high then low (1) or low then high (0); a packet is a start bit (1),
//!   one to eight bytes, and a stop bit, which is low throughout and so is no valid bit.
//!
//! Bytes are sent with their lowest bit first. The input has one bit for each sample, also with the lowest bit first.

mod decoder;
mod encoder;
mod manchester;
mod trust;
mod uart;
mod unit;

pub use decoder::LineDecoder;
pub use encoder::LineEncoder;

use crate::Lost;

/// The encoding of a serial line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// Characters with start and stop bits, which SWO calls UART or NRZ.
    Uart,
    /// Packets of one to eight bytes in Manchester code.
    Manchester,
}

/// The duration of a bit, in 256ths of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitLength(pub(crate) u64);

/// What a [`LineDecoder`] finds, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEvent {
    /// A byte that was sent.
    Byte {
        /// Offset of the input byte with the first sample of its first bit. The start bit of UART counts.
        offset: u64,
        /// The byte.
        byte: u8,
    },
    /// Samples that are no characters or packets.
    Lost(Lost),
}

impl BitLength {
    /// Creates a bit length from a number of samples. It is rounded, to one sample at least and 16 million at most.
    pub fn from_samples(samples: f64) -> Self {
        let most = (1_u64 << 24) as f64;
        Self((samples.clamp(1.0, most) * 256.0) as u64)
    }

    /// Returns the number of samples.
    pub fn samples(self) -> f64 {
        self.0 as f64 / 256.0
    }
}
