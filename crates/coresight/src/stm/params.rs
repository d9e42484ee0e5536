//! Parameters of a source, derived from its registers.

use tracewright_core::TraceId;

/// Registers of an STM, as trace snapshots name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// STMTCSR: control and status.
    pub stmtcsr: u32,
}

/// That of an STM that is on, with timestamps and synchronisation.
impl Default for Registers {
    fn default() -> Self {
        Self { stmtcsr: 7 }
    }
}

/// Parameters of a source. The bytes say all that is needed to read them: nothing depends on a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    registers: Registers,
}

impl Params {
    /// Derives the parameters.
    pub const fn new(registers: &Registers) -> Self {
        Self { registers: *registers }
    }

    /// Returns the registers.
    pub const fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Returns the trace ID: STMTCSR.TRACEID.
    pub const fn id(&self) -> TraceId {
        TraceId::from_low_bits((self.registers.stmtcsr >> 16) as u8)
    }

    /// Returns whether packets may have timestamps: STMTCSR.TSEN.
    pub const fn timestamps(&self) -> bool {
        self.registers.stmtcsr >> 1 & 1 == 1
    }

    /// Returns whether small values take packets of the fewest nibbles: STMTCSR.COMPEN.
    pub const fn compressed(&self) -> bool {
        self.registers.stmtcsr >> 5 & 1 == 1
    }
}
