//! Encoder from executed blocks to packets.
//!
//! An [`Encoder`] takes the blocks and traps of a hart in order, with their cycles. A packet waits for the next block: some send its
//! address, and all need one that ran. Where the format is open, the encoder does this:
//!
//! * A branch, jump or trap after which nothing more is traced is not sent, unless its target is known: the trace ends before it.
//! * Privilege and address space that change without a trap are told by a periodic synchronisation; the address space only in U, since
//!   returns to U tell it.
//! * Where execution goes on elsewhere without a jump, the trace ends and starts again.

mod encoder;

pub use encoder::Encoder;
use tracewright_core::Isa;

use crate::Params;

/// Settings of an encoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Parameters that a reader needs, too.
    pub params: Params,
    /// Instruction set.
    pub isa: Isa,
    /// Number of packets between two periodic synchronisations; 0 for none.
    pub periodic: u32,
    /// Most correct predictions in a packet (mode predict).
    pub most_hits: u32,
}

impl Config {
    /// Creates the settings of an encoder without periodic synchronisation.
    pub fn new(params: Params, isa: Isa) -> Self {
        Self { params, isa, periodic: 0, most_hits: 1 << 20 }
    }

    /// Checks that such an encoder can exist.
    ///
    /// # Errors
    /// Returns the name of the setting that is wrong.
    pub const fn check(&self) -> Result<(), &'static str> {
        match self {
            _ if self.most_hits == 0 => Err("most_hits"),
            _ => self.params.check(),
        }
    }
}
