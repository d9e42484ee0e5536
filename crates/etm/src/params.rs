//! From registers to what the parser's loop reads.

use core::fmt;

use tracewright_core::TraceId;

use crate::packet::{HeaderTable, Kind};
use crate::registers::{Registers, field};

/// Which of the two protocols a source speaks. ETE is ETMv4's successor; most packets are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Embedded Trace Macrocell, version 4.
    Etm4,
    /// Embedded Trace Extension (Armv9).
    Ete,
}

/// The traced core's architecture profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Application.
    A,
    /// Real-time.
    R,
    /// Microcontroller.
    M,
}

/// The traced core's architecture, as far as packets depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Architecture {
    /// Armv7.
    V7,
    /// Armv8 or later.
    V8,
}

/// Everything the packet level needs to know about a source, checked and folded from [`Registers`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    pub(crate) headers: HeaderTable,
    pub(crate) vmid_bytes: u8,
    pub(crate) context_id_bytes: u8,
    /// TRCIDR0.COMMOPT == 0: cycle count packets also commit.
    pub(crate) cycle_counts_commit: bool,
    pub(crate) max_spec: u32,
    pub(crate) cycle_mask: u32,
    protocol: Protocol,
    profile: Profile,
    version: u8,
    id: TraceId,
}

/// A register value that no trace unit can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamsError {
    /// The register's spec name.
    pub register: &'static str,
    /// The field's spec name.
    pub field: &'static str,
    /// The field's value.
    pub value: u32,
    /// What it may be.
    pub expected: &'static str,
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { register, field, value, expected } = self;
        write!(f, "{register}.{field} is {value:#x}, expected {expected}")
    }
}

impl core::error::Error for ParamsError {}

impl Params {
    /// Checks `registers` and folds them.
    ///
    /// # Errors
    /// When a field that decides packet lengths has a value the architecture does not know: reading on
    /// with a guess would misread every packet after the first that uses it.
    pub fn new(registers: &Registers) -> Result<Self, ParamsError> {
        let r = registers;
        let version = match r.protocol {
            Protocol::Etm4 => (field(r.trcidr1, 11, 8) << 4) | field(r.trcidr1, 7, 4),
            Protocol::Ete => (field(r.trcdevarch, 15, 12) << 4) | field(r.trcdevarch, 19, 16),
        } as u8;
        let (register, field_name, expected, major) = match r.protocol {
            Protocol::Etm4 => ("TRCIDR1", "TRCARCHMAJ", "4", 4),
            Protocol::Ete => ("TRCDEVARCH", "ARCHVER", "5", 5),
        };
        if version >> 4 != major {
            return Err(ParamsError { register, field: field_name, value: (version >> 4).into(), expected });
        }

        let vmid_size = field(r.trcidr2, 14, 10);
        let vmid_bytes = match vmid_size {
            0 | 1 => vmid_size as u8,
            2 | 4 if version > 0x40 => vmid_size as u8,
            value => {
                let expected = "0, 1, or from ETMv4.1 on also 2 or 4";
                return Err(ParamsError { register: "TRCIDR2", field: "VMIDSIZE", value, expected });
            }
        };
        let context_id_bytes = match field(r.trcidr2, 9, 5) {
            size @ (0 | 4) => size as u8,
            value => {
                return Err(ParamsError { register: "TRCIDR2", field: "CIDSIZE", value, expected: "0 or 4" });
            }
        };

        // COMMOPT means something only where cycle counting exists.
        let commopt = field(r.trcidr0, 29, 29) & field(r.trcidr0, 7, 7);
        Ok(Self {
            headers: HeaderTable::new(r, version),
            vmid_bytes,
            context_id_bytes,
            cycle_counts_commit: commopt == 0,
            max_spec: r.trcidr8,
            cycle_mask: (1 << (field(r.trcidr2, 28, 25) + 12)) - 1,
            protocol: r.protocol,
            profile: r.profile,
            version,
            id: TraceId::from_low_bits(r.trctraceidr as u8),
        })
    }

    /// What a header byte stands for in this configuration.
    pub fn kind(&self, header: u8) -> Kind {
        self.headers.kind(header)
    }

    /// ETMv4 or ETE.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whether this is an ETE.
    pub fn is_ete(&self) -> bool {
        self.protocol == Protocol::Ete
    }

    /// The traced core's profile.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Protocol version as (major, minor): 4.x for ETMv4, 1.x for ETE.
    pub fn version(&self) -> (u8, u8) {
        let major = self.version >> 4;
        (if self.is_ete() { major - 4 } else { major }, self.version & 0xf)
    }

    /// The source's trace ID.
    pub fn id(&self) -> TraceId {
        self.id
    }
}
