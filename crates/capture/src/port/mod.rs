//! The trace port, for all encoders: what is asked for, and what is found out.
//!
//! How large the buffer must be is found from the trace that loses nothing. Where a smaller buffer is asked for, what comes through it is
//! another trace (packets are lost, or later), so a second encoder makes the whole one beside it ([`Sizing`]).

mod gaps;
mod report;
mod sizing;

use tracewright_core::port::{Port, Rate, WhenFull};

pub use gaps::Gaps;
pub use report::Report;
pub use sizing::Sizing;

use crate::Remark;

/// The port that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRequest {
    /// Bits a cycle.
    pub rate: Rate,
    /// The port with its buffer, if the buffer is limited. Otherwise it is as large as it has to be.
    pub limited: Option<Port>,
}

impl PortRequest {
    /// Returns a remark if the buffer is too small to begin anew after a loss, for which an encoder needs `needs` bits.
    pub fn remark(&self, needs: u64) -> Option<Remark> {
        let Port { bits, when_full, .. } = self.limited?;
        (bits < needs && when_full == WhenFull::Drop).then_some(Remark::SmallBuffer { bits, needs })
    }
}
