//! Packets of ETMv3: their syntax, and the state that is needed to decompress them.

mod emit;
mod headers;
mod hot;
mod kind;
mod opencsd;
mod parser;
mod read;
mod state;
mod text;
mod types;

pub use crate::shared::address::State as InstructionState;
pub use crate::shared::exception::ExceptionBytes;
pub use crate::shared::{ASYNC, ZEROS};
pub use emit::Emitter;
pub use headers::{Headers, Sums};
pub use kind::Kind;
pub use opencsd::write as write_opencsd;
pub use parser::Parser;
pub use state::TraceState;
pub use text::{Details, exception_name};
pub use tracewright_core::stream::{PacketSink, Resync};
pub use types::{Address, Atoms, Branch, DataAddress, Form, ISync, Packet, Reason, Timestamp};

/// Maximum length of a packet. Only an A-Sync can have more bytes: those before the last are then bytes without synchronisation.
pub const MAX_PACKET: usize = 32;
