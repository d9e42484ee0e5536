//! Byte streams of encapsulated payloads, from one source or several.

mod frame;
mod hot;
mod parser;
mod search;
mod sources;
mod sync_points;
mod writer;

use crate::packet;
use crate::{Options, Params, ParamsError, data};

pub use crate::packet::Malformed;
pub use parser::Parser;
pub use sync_points::{SyncPoint, SyncPoints};
pub use writer::Writer;

/// Encapsulation of payloads in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encapsulation {
    /// "Unformatted Trace & Diagnostic Data Packet Encapsulation for RISC-V".
    Standard {
        /// Width of a source ID in bits.
        source_bits: u8,
        /// Length of a timestamp in bytes, where there is one.
        timestamp_bytes: u8,
        /// Width of the type before each payload, in bits.
        type_bits: u8,
    },
    /// Header byte with length and type, as in the reference model.
    Smi,
    /// Records of 40 bytes in reversed byte order, as PULP's `rv_tracer` writes them to memory.
    Pulp,
}

impl Default for Encapsulation {
    /// Returns the standard encapsulation of one source, without timestamps and types.
    fn default() -> Self {
        Self::Standard { source_bits: 0, timestamp_bytes: 0, type_bits: 0 }
    }
}

impl Encapsulation {
    /// Returns whether messages can have a timestamp that counts cycles.
    pub const fn has_timestamps(&self) -> bool {
        match self {
            Self::Standard { timestamp_bytes, .. } => *timestamp_bytes > 0,
            Self::Smi => false,
            Self::Pulp => true,
        }
    }
}

/// Settings that are needed to read a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Fixed attributes of the encoder.
    pub params: Params,
    /// Encapsulation of payloads.
    pub encapsulation: Encapsulation,
    /// Options before the first support packet.
    pub options: Options,
    /// Options of data trace before the first support packet.
    pub data: data::Options,
}

impl Config {
    /// Checks that such a stream can exist. Parsers and writers rely on it.
    ///
    /// # Errors
    /// Names the width or attribute that is wrong.
    pub fn check(&self) -> Result<(), ParamsError> {
        if let Encapsulation::Standard { source_bits, timestamp_bytes, type_bits } = self.encapsulation {
            let limits = [
                ("source_bits", source_bits, 16),
                ("timestamp_bytes", timestamp_bytes, 8),
                ("type_bits", type_bits, 8),
            ];
            if let Some((name, value, most)) = limits.iter().find(|(_, value, most)| value > most) {
                return Err(ParamsError::new(name, format!("{value} is more than {most}")));
            }
        }
        self.params.check()
    }
}

/// One message of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// ID of the source; 0 where there is only one.
    pub source: u16,
    /// Flow indicator.
    pub flow: u8,
    /// Timestamp, if the message has one.
    pub timestamp: Option<u64>,
    /// Content of the message.
    pub content: Content,
}

/// Content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// An instruction trace packet.
    Instruction(packet::Packet),
    /// A data trace packet.
    Data(data::Packet),
    /// Message of an unknown type.
    Other {
        /// Type of the message.
        kind: u8,
    },
    /// Filler on an idle line.
    Idle,
    /// Alignment sequence, which shows where packets begin.
    Alignment,
    /// Bytes that are not a packet.
    Malformed(Malformed),
    /// Bytes skipped in search of the start of a packet, reported where the search ends.
    NotSync {
        /// Number of bytes.
        len: u64,
    },
    /// Message cut off by the end of the stream.
    Incomplete,
}

/// Consumer of messages.
pub trait EtraceSink {
    /// Receives a message that began at stream position `offset`. `bytes` are all its bytes, encapsulation
    /// included (none for [`Content::NotSync`]).
    fn message(&mut self, offset: u64, bytes: &[u8], message: &Message);

    /// Offers a message that began at stream position `offset` before it is parsed. Only some messages are
    /// offered: instruction trace packets of source 0 without a timestamp. The payload of `len` bytes, at
    /// most 8, is sign-extended in `word`. Returns whether the sink took the message; the parser then skips
    /// it.
    #[inline(always)]
    fn short(&mut self, _offset: u64, _word: u64, _len: u32) -> bool {
        false
    }
}

impl<F: FnMut(u64, &[u8], &Message)> EtraceSink for F {
    #[inline(always)]
    fn message(&mut self, offset: u64, bytes: &[u8], message: &Message) {
        self(offset, bytes, message);
    }
}
