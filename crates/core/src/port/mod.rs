//! The trace port: a buffer that takes packets when an encoder makes them and empties at some rate.
//!
//! One model for all encoders. Time is counted in cycles of the hart. In each cycle the port sends up to
//! [`rate`](Port::rate) bits of what the buffer holds; then packets that are made in that cycle go in. What was not sent in a cycle in which
//! the buffer ran empty cannot be caught up with. Rates are fractions, and all arithmetic is exact.
//!
//! A packet that does not fit as a whole is lost, or the hart waits for it: see [`WhenFull`].
//!
//! * [`Buffer`] is the buffer of some size at work.
//! * [`Backlog`] is a buffer without a limit: how full it was at most is the size of the smallest buffer that loses nothing.
//!
//! ```
//! use tracewright_core::port::{Backlog, Buffer, Port, Rate, WhenFull};
//!
//! let rate: Rate = "1/2".parse().unwrap();
//! // 40 bits in cycle 0, and in cycle 10, when 5 of them have left.
//! let mut backlog = Backlog::new(rate);
//! backlog.add(40, 0);
//! backlog.add(40, 10);
//! assert_eq!(backlog.smallest(), 75);
//!
//! let mut buffer = Buffer::new(Port { rate, bits: 74, when_full: WhenFull::Drop });
//! assert!(buffer.take(40, 0));
//! assert!(!buffer.take(40, 10));
//! ```

mod backlog;
mod buffer;
mod level;
mod rate;

pub use backlog::Backlog;
pub use buffer::{Buffer, Stats};
pub use rate::{NoRate, Rate};

/// A buffer and the port behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// Bits that leave the buffer in a cycle.
    pub rate: Rate,
    /// Bits that the buffer holds.
    pub bits: u64,
    /// What happens when a packet does not fit.
    pub when_full: WhenFull,
}

/// What happens when a packet does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhenFull {
    /// The hart waits until it does: its clock stands still, and all that follows is later. A packet that is larger than the buffer goes in
    /// piece by piece: the hart waits until its last bit is in.
    Stall,
    /// It is lost, and so is all that follows until there is room for what a reader needs to begin anew. A packet that is larger than the
    /// buffer never fits.
    Drop,
}
