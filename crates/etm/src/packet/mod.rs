//! Packets of the instruction stream: their syntax, and the state that is needed to decompress them.
//!
//! The state is split as in a hardware decoder. The *stream state* ([`Parser`]: synchronisation, and the bytes of an
//! unfinished packet) finds packet boundaries. The *trace state* ([`TraceState`]: address history, timestamp, cycle
//! threshold) mirrors the compression registers of the trace unit. [`bytewise`] is the same decoder as a pure
//! function of one byte and the two states.

mod address;
mod atoms;
pub mod bytewise;
mod emit;
mod exception;
mod fields;
mod header;
mod hot;
mod kind;
pub mod opencsd;
mod parser;
mod read;
mod state;
mod text;
mod types;

pub use address::{Address, AddressForm, InstructionSet};
pub use atoms::{AtomRun, Atoms};
pub use emit::{EmitError, Emitter, PacketBytes};

pub use exception::{Exception, ReturnAddress};
pub(crate) use header::HeaderTable;
pub use kind::Kind;
pub use parser::Parser;
pub use state::TraceState;
pub use tracewright_core::Security;
pub use tracewright_core::stream::{PacketSink, Resync};
pub use types::{
    ConditionalInstruction, ConditionalResult, Context, CycleCount, KeyedResult, Packet, Q, Timestamp,
    TraceInfo,
};

/// Maximum length of a packet: Trace Info with all five sections of five bytes each, and room for extensions of the
/// control byte. No version has longer packets; they are reported as malformed.
pub const MAX_PACKET: usize = 32;

/// Alignment synchronisation: the only byte pattern at which a parser can start.
pub const ASYNC: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80];
