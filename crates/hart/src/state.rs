use crate::memory::Memory;
use crate::tlb::Tlb;

/// The state of a hart that all machines share.
#[derive(Clone, Debug)]
pub struct Core {
    /// Integer registers; [`X0_SINK`] takes what is written to x0. RV32 keeps its values sign-extended.
    pub x: [u64; 33],
    /// Floating-point registers; singles are NaN-boxed.
    pub f: [u64; 32],
    /// fflags (bits 4:0) and frm (bits 7:5).
    pub fcsr: u8,
    /// Where execution is.
    pub pc: u64,
    /// Instructions retired.
    pub instret: u64,
    /// When [`Machine::poll`](crate::Machine::poll) is called next.
    pub deadline: u64,
    /// The address that LR reserved.
    pub reservation: Option<u64>,
    /// Whether this is RV32.
    pub is_rv32: bool,
    /// All memory.
    pub memory: Memory,
    /// Where pages are.
    pub tlb: Tlb,
    /// Whether loads and stores need not be aligned.
    pub misaligned: bool,
    /// Whether there are floating-point instructions now. Who changes it sets `code_changed`.
    pub fp_enabled: bool,
    /// Whether a floating-point register or flag was written.
    pub fp_dirty: bool,
    /// Set by what makes decoded instructions wrong: FENCE.I, a change of address translation or of memory regions.
    pub code_changed: bool,
}

/// Where writes to x0 go.
pub const X0_SINK: usize = 32;

impl Core {
    /// All registers zero.
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

    /// The bits of an address that count.
    #[inline(always)]
    pub fn address(&self, address: u64) -> u64 {
        if self.is_rv32 { address & 0xffff_ffff } else { address }
    }
}
