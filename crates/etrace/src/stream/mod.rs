//! What carries packets: a byte stream of encapsulated payloads, from one source or from several.

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

/// How payloads lie in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encapsulation {
    /// "Unformatted Trace & Diagnostic Data Packet Encapsulation for RISC-V".
    Standard {
        /// Bits of a source's ID.
        source_bits: u8,
        /// Bytes of a timestamp, where there is one.
        timestamp_bytes: u8,
        /// Bits of the type that precedes each payload.
        type_bits: u8,
    },
    /// A header byte with length and type, as in the reference model.
    Smi,
    /// Records of 40 bytes, reversed, as PULP's `rv_tracer` writes into memory.
    Pulp,
}

impl Encapsulation {
    /// Whether messages can have a timestamp that tells cycles.
    pub const fn has_timestamps(&self) -> bool {
        match self {
            Self::Standard { timestamp_bytes, .. } => *timestamp_bytes > 0,
            Self::Smi => false,
            Self::Pulp => true,
        }
    }
}

/// All that one must know to read a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What the encoder is built with.
    pub params: Params,
    /// How payloads lie in the stream.
    pub encapsulation: Encapsulation,
    /// What is switched on before any support packet says so.
    pub options: Options,
    /// Likewise for data trace.
    pub data: data::Options,
}

impl Config {
    /// Checks that there can be such a stream. Parsers and writers rely on it.
    ///
    /// # Errors
    /// Says which width or attribute is wrong.
    pub fn check(&self) -> Result<(), ParamsError> {
        if let Encapsulation::Standard { source_bits, timestamp_bytes, type_bits } = self.encapsulation {
            let limits = [
                ("source_bits", source_bits, 16),
                ("timestamp_bytes", timestamp_bytes, 8),
                ("type_bits", type_bits, 8),
            ];
            if let Some((name, value, most)) = limits.iter().find(|(_, value, most)| value > most) {
                return Err(ParamsError {
                    name: (*name).into(),
                    why: format!("{value} is more than {most}"),
                });
            }
        }
        self.params.check()
    }
}

/// Something in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The source it is from; 0 where there is only one.
    pub source: u16,
    /// Flow indicator.
    pub flow: u8,
    /// When.
    pub timestamp: Option<u64>,
    /// What.
    pub content: Content,
}

/// What a message holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// An instruction trace packet.
    Instruction(packet::Packet),
    /// A data trace packet.
    Data(data::Packet),
    /// Of a type that we do not know.
    Other {
        /// The type.
        kind: u8,
    },
    /// Nothing: fills the line.
    Idle,
    /// Nothing: tells where packets begin.
    Alignment,
    /// Bytes that are no packet.
    Malformed(Malformed),
    /// Bytes passed over in search of a place where packets begin, told at their end.
    NotSync {
        /// How many.
        len: u64,
    },
    /// The stream ends within a message.
    Incomplete,
}

/// What takes messages.
pub trait Sink {
    /// A message that began at stream position `offset`; `bytes` are all its bytes, those of the encapsulation among them (none for
    /// [`Content::NotSync`]).
    fn message(&mut self, offset: u64, bytes: &[u8], message: &Message);

    /// A message that began at stream position `offset`, before it is read; not of all messages this is asked. It is of source 0, an
    /// instruction trace packet without timestamp, and its payload of `len` bytes, at most 8, is `word` with its sign. Returns
    /// whether it was taken: it is not read then.
    #[inline(always)]
    fn short(&mut self, _offset: u64, _word: u64, _len: u32) -> bool {
        false
    }
}

impl<F: FnMut(u64, &[u8], &Message)> Sink for F {
    #[inline(always)]
    fn message(&mut self, offset: u64, bytes: &[u8], message: &Message) {
        self(offset, bytes, message);
    }
}
