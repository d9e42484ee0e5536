//! The state of the compression.

use super::InstructionState;

/// The compression registers of the trace unit, mirrored: packets tell only what differs from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceState {
    /// Last address of an instruction, and number of its low bits that are known.
    pub(super) address: (u32, u8),
    /// Instruction set of the last address.
    pub(super) state: Option<InstructionState>,
    /// Last data address, and number of its low bits that are known.
    pub(super) data: (u32, u8),
    /// Last timestamp, and number of its low bits that are known.
    pub(super) timestamp: (u64, u8),
}

impl TraceState {
    /// Returns the instruction set of the last address. Before the first it is A32.
    pub(super) fn instruction_state(&self) -> InstructionState {
        self.state.unwrap_or_default()
    }
}
