//! The encoder: what a hart retires to packets.
//!
//! [`Encoder`] takes [`Entry`]s in order and tells packets. It decides as the specification's flow does, with the
//! instruction before and the one after in view; of an entry with many instructions only the first and the last matter. So an
//! entry is settled when the next one is there, and the last by [`Encoder::finish`].
//!
//! For each instruction, the first of these that applies:
//!
//! 1. It is the first after a trap: a trap packet, or a start packet where the trap was told already.
//! 2. It is the first that is traced, the first in another privilege or in a context that is told precisely, or
//!    synchronisation is due: a start packet.
//! 3. It is the target of an uninferable jump: its address.
//! 4. Branches have to be told before a synchronisation, or a notification is asked for: its address.
//! 5. A trap, the end of tracing, or with branches untold a change of privilege come next: its address.
//! 6. The branch map is full, or a prediction failed after 31 that did not: the branches.
//! 7. The context changed and may be told imprecisely: a context packet.
//!
//! Where the specification leaves something open or cannot be decoded, this is what we do:
//!
//! * Context packets carry no branches, so they leave the branch map alone (unless [`Config::shallow`]). They come with the first
//!   instruction of the context, whatever else is told of it: nothing is forgotten.
//! * A trap that hits another trap's first instruction, where that trap was taken at the target of an uninferable jump or by the
//!   first traced instruction, is told like that one: `thaddr` 0, its own cause and address; then a start packet.
//! * A trap whose handler is not traced is told with `thaddr` 0.
//! * A branch or call that a synchronisation packet points at counts for predictor and return stack after their reset.
//! * A decoder follows the program to the address of a start packet, and stops where it first comes by. So the last instruction
//!   before it is told where it is an uninferable jump to the same privilege, and also after an address that was told as a jump's
//!   target without `updiscon`, which itself may have been passed before. Where a context goes on elsewhere
//!   ([`CType::Discontinuity`]), or a return that went elsewhere than its call says brings another context, no way leads there: a
//!   support packet comes between, which ends tracing. ([`Quirks::bare_starts`])
//! * Synchronisation waits where a return went elsewhere than its call says, for the same reason.
//! * A return that is the jump of a sequentially inferable pair is inferable when [`sijump`](crate::Options::sijump) is on. It
//!   takes a call from the return stack, and is not counted.
//! * A return that went elsewhere than the return stack says takes its call from there ([`Quirks::keeps_failed_returns`]).
//! * Synchronisation happens where blocks start, so that the packets do not depend on how many instructions an entry
//!   has ([`Resync::anywhere`]).

mod blocks;
mod branches;
mod config;
mod encoder;
mod filter;
mod port;
mod resync;
mod returns;
mod step;
mod tell;

#[cfg(test)]
mod tests;

pub use blocks::BlockEncoder;
pub use config::{Config, Quirks};
pub use encoder::Encoder;
pub use filter::Filter;
pub use port::{Port, Reached};
pub use resync::{Resync, ResyncMode};
pub use tracewright_core::control::Comparator;

#[cfg(doc)]
use crate::ingress::{CType, Entry};
