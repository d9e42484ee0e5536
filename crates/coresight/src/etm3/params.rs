//! Parameters of a source, derived from its registers.

use core::fmt;

use tracewright_core::TraceId;

use crate::shared::address::Encoding;
use crate::shared::timestamp::Width;

/// The registers of an ETMv3, under their names in the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Registers {
    /// Main control: what is traced.
    pub etmcr: u32,
    /// ID: the version and a few features.
    pub etmidr: u32,
    /// Configuration code extension: timestamps, virtualisation.
    pub etmccer: u32,
    /// Trace ID.
    pub etmtraceidr: u32,
    /// Whether the traced core has M profile, which no register tells. Its exceptions have other numbers.
    pub is_m: bool,
}

/// An ETMv3.5 that traces instructions and nothing else, as that of a Cortex-A7.
impl Default for Registers {
    fn default() -> Self {
        Self { etmcr: 0, etmidr: 0x410c_f250, etmccer: 0x3440_08f2, etmtraceidr: 0x10, is_m: false }
    }
}

/// The parameters of a source that packets and their meaning depend on, checked and derived from [`Registers`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    registers: Registers,
    pub(crate) encoding: Encoding,
    pub(crate) timestamp_width: Width,
    pub(crate) context_id_bytes: u8,
}

/// An error: a register has a value that no ETMv3 can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamsError {
    /// Name of the register in the specification.
    pub register: &'static str,
    /// Name of the field in the specification.
    pub field: &'static str,
    /// Value of the field.
    pub value: u32,
    /// Allowed values.
    pub expected: &'static str,
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { register, field, value, expected } = self;
        write!(f, "{register}.{field} is {value:#x}, expected {expected}")
    }
}

impl core::error::Error for ParamsError {}

const fn field(value: u32, high: u32, low: u32) -> u32 {
    value >> low & ((1 << (high - low + 1)) - 1)
}

impl Params {
    /// Checks `registers` and derives the parameters.
    ///
    /// # Errors
    /// Fails if ETMIDR names another architecture than ETMv3: packets of ETMv1, ETMv2 and PTM are others.
    pub const fn new(registers: &Registers) -> Result<Self, ParamsError> {
        let (register, value) = ("ETMIDR", field(registers.etmidr, 11, 8));
        if value != 2 {
            let (field, expected) = ("major architecture version", "2 (ETMv3)");
            return Err(ParamsError { register, field, value, expected });
        }
        let minor = field(registers.etmidr, 7, 4);
        if minor > 5 {
            let (field, expected) = ("minor architecture version", "0 to 5");
            return Err(ParamsError { register, field, value: minor, expected });
        }
        let is_alternative = minor >= 4 && field(registers.etmidr, 20, 20) == 1;
        let is_long = field(registers.etmccer, 29, 29) == 1;
        Ok(Self {
            registers: *registers,
            encoding: if is_alternative { Encoding::Alternative } else { Encoding::Original },
            timestamp_width: if is_long { Width::Bits64 } else { Width::Bits48 },
            context_id_bytes: match field(registers.etmcr, 15, 14) {
                0 => 0,
                1 => 1,
                2 => 2,
                _ => 4,
            },
        })
    }

    const fn has(&self, bit: u32) -> bool {
        field(self.registers.etmcr, bit, bit) == 1
    }

    /// Returns the registers.
    pub const fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Returns the minor version: 5 for ETMv3.5.
    pub const fn minor(&self) -> u8 {
        field(self.registers.etmidr, 7, 4) as u8
    }

    /// Returns whether the traced core has M profile.
    pub const fn is_m(&self) -> bool {
        self.registers.is_m
    }

    /// Returns whether the ETM can tell Hyp mode (ETMCCER, virtualisation extensions).
    pub const fn has_virtualisation(&self) -> bool {
        field(self.registers.etmccer, 26, 26) == 1
    }

    /// Returns whether data values are traced (ETMCR, bit 2).
    pub const fn data_values(&self) -> bool {
        self.has(2)
    }

    /// Returns whether data addresses are traced (ETMCR, bit 3).
    pub const fn data_addresses(&self) -> bool {
        self.has(3)
    }

    /// Returns whether any data are traced.
    pub const fn data(&self) -> bool {
        self.data_values() || self.data_addresses()
    }

    /// Returns whether the targets of all branches are traced (ETMCR, bit 8).
    pub const fn branch_broadcast(&self) -> bool {
        self.has(8)
    }

    /// Returns whether cycles are traced (ETMCR, bit 12).
    pub const fn cycle_accurate(&self) -> bool {
        self.has(12)
    }

    /// Returns whether instructions are traced, and not only data (ETMCR, bit 20).
    pub const fn instructions(&self) -> bool {
        !self.has(20)
    }

    /// Returns whether timestamps are traced (ETMCR, bit 28).
    pub const fn timestamps(&self) -> bool {
        self.has(28)
    }

    /// Returns whether VMIDs are traced (ETMCR, bit 30).
    pub const fn vmids(&self) -> bool {
        self.has(30)
    }

    /// Returns the number of bytes of context IDs (ETMCR, bits 14 and 15): 0, 1, 2 or 4.
    pub const fn context_id_bytes(&self) -> u8 {
        self.context_id_bytes
    }

    /// Returns the trace ID.
    pub const fn id(&self) -> TraceId {
        TraceId::from_low_bits(self.registers.etmtraceidr as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_of_a_cortex_a7() {
        let registers = Registers { etmcr: 0x1000_1860, ..Registers::default() };
        let params = Params::new(&registers).unwrap();
        assert!(params.cycle_accurate() && params.timestamps() && params.instructions());
        assert!(!params.data() && !params.vmids() && !params.branch_broadcast());
        assert_eq!((params.minor(), params.context_id_bytes(), params.id().get()), (5, 0, 0x10));
        assert_eq!((params.encoding, params.timestamp_width), (Encoding::Original, Width::Bits64));
    }

    #[test]
    fn the_alternative_encoding_came_with_version_4() {
        let of =
            |etmidr| Params::new(&Registers { etmidr, ..Registers::default() }).map(|params| params.encoding);
        assert_eq!(of(0x4114_f250), Ok(Encoding::Alternative));
        assert_eq!(of(0x4114_f230), Ok(Encoding::Original));
        let error = of(0x411c_f312).unwrap_err();
        assert_eq!(error.to_string(), "ETMIDR.major architecture version is 0x3, expected 2 (ETMv3)");
    }
}
