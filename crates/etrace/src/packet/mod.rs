//! te_inst payloads: syntax.
//!
//! A payload is a string of bits, sent lowest first. At its upper end, bits that repeat the one before are left out
//! (sign-based compression), so a field may lie wholly in bits that were not sent. Nothing here needs the program, or
//! knows what came before, but for the [`Options`](crate::Options) that the last support packet told.

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

/// No payload is longer: a trap packet with all fields at their widest.
pub const MAX_PAYLOAD: usize = 48;
