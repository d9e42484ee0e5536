//! Instruction stream packets: syntax, and the little state that decompressing them takes.
//!
//! The state is split as in a hardware decoder: the *stream state* ([`Parser`]: are we synchronised, which
//! bytes of an unfinished packet have come) finds packet boundaries; the *trace state* ([`TraceState`]:
//! address history, timestamp, cycle threshold) mirrors the trace unit's compression registers.
//! [`bytewise`] is the same decoder as a pure function of one byte and the two states.

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
mod search;
mod state;
mod text;
mod types;

pub use address::{Address, AddressForm, InstructionSet};
pub use atoms::{AtomRun, Atoms};
pub use emit::{EmitError, Emitter, PacketBytes};

pub use exception::{Exception, ReturnAddress};
pub(crate) use header::HeaderTable;
pub use kind::Kind;
pub use parser::{Parser, Resync, Sink};
pub use state::TraceState;
pub use tracewright_core::Security;
pub use types::{
    ConditionalInstruction, ConditionalResult, Context, CycleCount, KeyedResult, Packet, Q, Timestamp,
    TraceInfo,
};

/// No packet is longer: Trace Info with all five sections at five bytes each, and room for a control
/// byte's extension. Longer ones do not exist in any version and are reported as malformed.
pub const MAX_PACKET: usize = 32;

/// Alignment synchronisation: the only byte pattern a reader can start at.
pub const ASYNC: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80];
