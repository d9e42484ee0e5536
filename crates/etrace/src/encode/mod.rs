//! Encoder from retired instructions to packets.
//!
//! [`Encoder`] takes [`Entry`]s in order and emits packets. It follows the flow chart of the specification,
//! which looks at the instruction before and the one after. In an entry with many instructions only the first
//! and the last matter. An entry is settled when the next one arrives, and the last entry by
//! [`Encoder::finish`].
//!
//! For each instruction, the first rule that applies decides:
//!
//! 1. First after a trap: a trap packet, or a start packet if the trap was already reported.
//! 2. First traced instruction, first in another privilege or in a context that is reported precisely, or
//!    synchronisation is due: a start packet.
//! 3. Target of an uninferable jump: its address.
//! 4. Branches must be reported before a synchronisation, or a notification is requested: its address.
//! 5. A trap or the end of tracing comes next, or a change of privilege while branches are unreported: its
//!    address.
//! 6. The branch map is full, or a prediction failed after at least 31 correct ones: the branches.
//! 7. The context changed and may be reported imprecisely: a context packet.
//!
//! Where the specification is open or its packets cannot be decoded, the encoder does this:
//!
//! * Context packets carry no branches, so they leave the branch map alone (unless [`Config::shallow`]). A
//!   context packet comes with the first instruction of the context, whatever else is reported about it, so
//!   no change is lost.
//! * A trap may hit the first instruction of another trap that was taken at the target of an uninferable jump
//!   or at the first traced instruction. It is then reported like that one: `thaddr` 0 with its own cause and
//!   address, then a start packet.
//! * A trap whose handler is not traced is reported with `thaddr` 0.
//! * A branch or call that a synchronisation packet points at updates predictor and return stack after their
//!   reset.
//! * A decoder follows the program to the address of a start packet and stops at its first occurrence. So the
//!   last instruction before it is reported if it is an uninferable jump to the same privilege. It is also
//!   reported after an address that was sent as a jump's target without `updiscon`, since the decoder may
//!   have passed that address before. If a context goes on elsewhere ([`CType::Discontinuity`]), or a return
//!   that did not go to its call brings another context, no path leads to the start; a support packet in
//!   between ends tracing. [`Quirks::bare_starts`] turns this off.
//! * Synchronisation waits while a return did not go to its call, for the same reason.
//! * A return that is the jump of a sequentially inferable pair is inferable when
//!   [`sijump`](crate::Options::sijump) is on. It takes a call from the return stack and is not counted.
//! * A return that did not go where the return stack says still takes its call from the stack
//!   ([`Quirks::keeps_failed_returns`] turns this off).
//! * Synchronisation happens where blocks start, so that packets do not depend on the number of instructions
//!   per entry ([`Resync::anywhere`] turns this off).

mod blocks;
mod branches;
mod config;
mod emit;
mod encoder;
mod filter;
mod port;
mod resync;
mod returns;
mod step;
mod unfit;

#[cfg(test)]
mod tests;

pub use blocks::BlockEncoder;
pub use config::{Config, Quirks};
pub use encoder::Encoder;
pub use filter::Filter;
pub use port::{Port, Reached};
pub use resync::{Resync, ResyncMode};
pub use tracewright_core::control::Comparator;
pub use unfit::Unfit;

#[cfg(doc)]
use crate::ingress::{CType, Entry};
