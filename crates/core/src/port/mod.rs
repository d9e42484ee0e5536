//! A model of the trace port: a buffer that receives packets from an encoder and drains at a fixed rate.
//!
//! All encoders share this model. Time is counted in cycles of the hart. In each cycle the port sends up to
//! [`rate`](Port::rate) bits from the buffer, and then the packets made in that cycle enter it. Capacity that is
//! unused while the buffer is empty is lost. Rates are fractions, and all arithmetic is exact.
//!
//! A packet that does not fit as a whole is lost, or the hart stalls until it fits: see [`WhenFull`].
//!
//! * [`Buffer`] is a buffer of limited size.
//! * [`Backlog`] is a buffer without a limit. Its greatest level is the size of the smallest buffer that loses
//!   nothing.
//!
//! ```
//! use tracewright_core::port::{Backlog, Buffer, Port, Rate, WhenFull};
//!
//! let rate: Rate = "1/2".parse().unwrap();
//! // 40 bits in cycle 0, and 40 more in cycle 10, when 5 of the first have left.
//! let mut backlog = Backlog::new(rate);
//! backlog.add(40, 0);
//! backlog.add(40, 10);
//! assert_eq!(backlog.smallest(), 75);
//!
//! let mut buffer = Buffer::new(Port { rate, bits: 74, when_full: WhenFull::Drop });
//! assert!(buffer.take(40, 0));
//! assert!(!buffer.take(40, 10));
//! ```

mod buffer;
mod rate;

pub use buffer::{Backlog, Buffer, Stats};
pub use rate::{NoRate, Rate};

/// The parameters of a buffer and of the port behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// Bits that leave the buffer per cycle.
    pub rate: Rate,
    /// Size of the buffer in bits.
    pub bits: u64,
    /// Behaviour when a packet does not fit.
    pub when_full: WhenFull,
}

/// The behaviour when a packet does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhenFull {
    /// Stalls the hart until the packet fits. Its clock stands still, and all that follows is later. A packet that is
    /// larger than the buffer enters in pieces, and the hart stalls until its last bit is in.
    Stall,
    /// Drops the packet, and all that follow until there is room for what a decoder needs to resume. A packet that is
    /// larger than the buffer never fits.
    Drop,
}
