use tracewright_core::Isa;

use crate::memory::Memory;
use crate::tlb::Tlb;

/// State of a hart that all machines share.
#[derive(Clone, Debug)]
pub struct Core {
    /// Integer registers. [`X0_SINK`] takes writes to x0. RV32 values are kept sign-extended.
    pub x: [u64; 33],
    /// Floating-point registers; singles are NaN-boxed.
    pub f: [u64; 32],
    /// fflags (bits 4:0) and frm (bits 7:5).
    pub fcsr: u8,
    /// Program counter.
    pub pc: u64,
    /// Number of instructions retired.
    pub instret: u64,
    /// Value of `instret` at which [`Machine::poll`](crate::Machine::poll) is called next.
    pub deadline: u64,
    /// Address that LR reserved.
    pub reservation: Option<u64>,
    /// Set for RV32.
    pub is_rv32: bool,
    /// Memory.
    pub memory: Memory,
    /// Page locations.
    pub tlb: Tlb,
    /// Set if loads and stores need not be aligned.
    pub misaligned: bool,
    /// Set if floating-point instructions are enabled. Set `code_changed` when changing it.
    pub fp_enabled: bool,
    /// Set if a floating-point register or flag was written.
    pub fp_dirty: bool,
    /// Set by what invalidates decoded instructions: FENCE.I, a change of address translation or of memory regions.
    pub code_changed: bool,
}

/// Index of the register that takes writes to x0.
pub const X0_SINK: usize = 32;

impl Core {
    /// Creates a hart state with all registers zero.
    pub fn new(is_rv32: bool, memory: Memory) -> Self {
        Self {
            x: [0; 33],
            f: [0; 32],
            fcsr: 0,
            pc: 0,
            instret: 0,
            deadline: 0,
            reservation: None,
            is_rv32,
            memory,
            tlb: Tlb::new(),
            misaligned: true,
            fp_enabled: true,
            fp_dirty: false,
            code_changed: false,
        }
    }

    /// Returns the instruction set.
    pub(crate) fn isa(&self) -> Isa {
        if self.is_rv32 { Isa::Rv32 } else { Isa::Rv64 }
    }

    /// Returns the significant bits of an address.
    #[inline(always)]
    pub fn address(&self, address: u64) -> u64 {
        if self.is_rv32 { address & 0xffff_ffff } else { address }
    }
}
