//! Parameters of a source, derived from its registers.

use core::fmt;

use tracewright_core::TraceId;

use crate::shared::timestamp::Width;

/// Registers of a PTM, as trace snapshots name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// ETMCR: main control.
    pub etmcr: u32,
    /// ETMIDR: version.
    pub etmidr: u32,
    /// ETMCCER: what the trace unit can do.
    pub etmccer: u32,
    /// ETMTRACEIDR: trace ID.
    pub etmtraceidr: u32,
}

/// Those of a PFT 1.1 with 64-bit timestamps and a return stack, all options off.
impl Default for Registers {
    fn default() -> Self {
        Self { etmcr: 0, etmidr: 0x411c_f310, etmccer: 0x34c0_1ac2, etmtraceidr: 0 }
    }
}

/// Parameters of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    registers: Registers,
    /// ETMCR.CycleAccurate: atoms, branches and timestamps have cycle counts.
    pub(crate) cycle_accurate: bool,
    /// ETMCR.ContextIDSize in bytes: 0, 1, 2 or 4.
    pub(crate) context_id_bytes: u8,
    /// ETMCR.BranchBroadcast: direct branches have addresses, too.
    pub(crate) branch_broadcast: bool,
    /// ETMCR.TimestampEnable.
    pub(crate) timestamps: bool,
    /// ETMCR.ReturnStackEnable.
    pub(crate) return_stack: bool,
    /// ETMCR.VMIDTraceEnable.
    pub(crate) vmids: bool,
    /// ETMCCER: timestamps have 64 bits.
    pub(crate) timestamp_width: Width,
    /// ETMCCER: DMB and DSB are waypoints.
    pub(crate) barriers_are_waypoints: bool,
}

/// A register has a value that no PTM has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamsError {
    /// Name of the register.
    pub register: &'static str,
    /// Its value.
    pub value: u32,
    /// Allowed values.
    pub expected: &'static str,
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { register, value, expected } = self;
        write!(f, "{register} is {value:#x}, expected {expected}")
    }
}

impl core::error::Error for ParamsError {}

const fn bit(value: u32, bit: u32) -> bool {
    value >> bit & 1 == 1
}

impl Params {
    /// Checks registers and derives the parameters.
    ///
    /// # Errors
    /// Fails if ETMIDR is not that of a PFT 1 trace unit: its major version is 3, after ETMv3.
    pub const fn new(registers: &Registers) -> Result<Self, ParamsError> {
        let &Registers { etmcr, etmidr, etmccer, .. } = registers;
        if etmidr >> 8 & 0xf != 3 {
            return Err(ParamsError { register: "ETMIDR", value: etmidr, expected: "3 in bits 11 to 8" });
        }
        let context_id_bytes = match etmcr >> 14 & 3 {
            0 => 0,
            1 => 1,
            2 => 2,
            _ => 4,
        };
        Ok(Self {
            registers: *registers,
            cycle_accurate: bit(etmcr, 12),
            context_id_bytes,
            branch_broadcast: bit(etmcr, 8),
            timestamps: bit(etmcr, 28),
            return_stack: bit(etmcr, 29),
            vmids: bit(etmcr, 30),
            timestamp_width: if bit(etmccer, 29) { Width::Bits64 } else { Width::Bits48 },
            barriers_are_waypoints: bit(etmccer, 24),
        })
    }

    /// Returns the registers.
    pub const fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Returns the version of the architecture: 1 and 0, or 1 and 1.
    pub const fn version(&self) -> (u8, u8) {
        (1, (self.registers.etmidr >> 4 & 0xf) as u8)
    }

    /// Returns the trace ID.
    pub const fn id(&self) -> TraceId {
        TraceId::from_low_bits(self.registers.etmtraceidr as u8)
    }

    /// Returns whether the trace has cycle counts.
    pub const fn cycle_accurate(&self) -> bool {
        self.cycle_accurate
    }

    /// Returns the bytes of a context ID: 0 if they are not traced.
    pub const fn context_id_bytes(&self) -> u8 {
        self.context_id_bytes
    }

    /// Returns whether direct branches have addresses.
    pub const fn branch_broadcast(&self) -> bool {
        self.branch_broadcast
    }

    /// Returns whether the trace has timestamps.
    pub const fn timestamps(&self) -> bool {
        self.timestamps
    }

    /// Returns whether returns that a stack of calls predicts have no address.
    pub const fn return_stack(&self) -> bool {
        self.return_stack
    }

    /// Returns whether virtual machine IDs are traced.
    pub const fn vmids(&self) -> bool {
        self.vmids
    }

    /// Returns the width of timestamps.
    pub const fn timestamp_width(&self) -> Width {
        self.timestamp_width
    }
}

impl Default for Params {
    fn default() -> Self {
        match Self::new(&Registers::default()) {
            Ok(params) => params,
            Err(_) => unreachable!(),
        }
    }
}
