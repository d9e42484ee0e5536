//! Syntax of te_inst payloads.
//!
//! A payload is a bit string, sent lowest bit first. Upper bits that repeat the bit below them are not sent
//! (sign-based compression), so a field may lie wholly in bits that were not sent. Parsing needs neither the
//! program nor earlier packets, except for the [`Options`](crate::Options) of the last support packet.

mod emit;
mod hot;
mod malformed;
mod quick;
mod read;
mod support;
mod text;
mod types;

pub use emit::{NoPayload, PayloadBytes, emit};
pub(crate) use emit::{emit_into, finish};
pub(crate) use hot::Hot;
pub use malformed::Malformed;
pub(crate) use quick::Short;
pub(crate) use read::read;
pub use read::{is_canonical, parse};
pub use text::Details;
pub use types::{Address, BranchCount, BranchMap, Context, Packet, QualStatus, Start, Support, Trap};

/// Length of the longest payload: a trap packet with all fields at their widest.
pub const MAX_PAYLOAD: usize = 48;
