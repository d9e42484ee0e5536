//! Parameters of a source, derived from its registers.

use core::fmt;

use tracewright_core::TraceId;

use crate::packet::{HeaderTable, Kind};
use crate::registers::{Registers, field};

/// The protocol of a source. ETE is the successor of ETMv4, and most packets are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Embedded Trace Macrocell, version 4.
    Etm4,
    /// Embedded Trace Extension (Armv9).
    Ete,
}

/// The architecture profile of the traced core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CoreProfile {
    /// Application.
    A,
    /// Real-time.
    R,
    /// Microcontroller.
    M,
}

/// The architecture of the traced core, as far as packets depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Architecture {
    /// Armv7.
    V7,
    /// Armv8 or later.
    V8,
}

/// The parameters of a source that the packet level needs, checked and derived from [`Registers`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    pub(crate) headers: HeaderTable,
    pub(crate) vmid_bytes: u8,
    pub(crate) context_id_bytes: u8,
    /// TRCIDR0.COMMOPT == 0: cycle count packets also commit.
    pub(crate) cycle_counts_commit: bool,
    pub(crate) max_spec: u32,
    pub(crate) cycle_mask: u32,
    /// TRCCONFIGR.RS: returns that are predicted by a stack of calls have no address in the trace.
    pub(crate) return_stack: bool,
    /// TRCCONFIGR.CCI.
    pub(crate) cycle_counting: bool,
    /// TRCCONFIGR.BB: the targets of all taken branches are traced.
    pub(crate) branch_broadcast: bool,
    /// TRCCONFIGR.TS.
    pub(crate) timestamps: bool,
    /// TRCCONFIGR.CID and VMID, as far as there are such IDs.
    pub(crate) context_ids: bool,
    pub(crate) vmids: bool,
    /// TRCCONFIGR.INSTP0: loads, stores are P0 elements.
    pub(crate) loads_stores_p0: u8,
    /// TRCIDR2.WFXMODE: WFI and WFE are P0 elements.
    pub(crate) waits_are_p0: bool,
    /// TRCIDR0.COMMTRANS = 0: Transaction Start is a P0 element.
    pub(crate) transaction_start_is_p0: bool,
    /// TRCIDR0.TSMARK: timestamps refer to markers.
    pub(crate) timestamp_markers: bool,
    architecture: Architecture,
    protocol: Protocol,
    declared: Protocol,
    profile: CoreProfile,
    version: u8,
    id: TraceId,
}

/// An error: a register has a value that no trace unit can have.
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

fn wrong(register: &'static str, field: &'static str, value: u32, expected: &'static str) -> ParamsError {
    ParamsError { register, field, value, expected }
}

impl Params {
    /// Checks `registers` and derives the parameters.
    ///
    /// # Errors
    /// If a field that determines packet lengths has a value that the architecture does not define. A guess would
    /// misread every packet after the first one that uses the field.
    pub fn new(registers: &Registers) -> Result<Self, ParamsError> {
        let resolved = registers.resolved();
        let r = &resolved;
        let (value, minor) = match r.protocol {
            Protocol::Etm4 => (field(r.trcidr1, 11, 8), field(r.trcidr1, 7, 4)),
            Protocol::Ete => (field(r.trcdevarch, 15, 12), field(r.trcdevarch, 19, 16)),
        };
        match (r.protocol, value) {
            (Protocol::Etm4, 4) | (Protocol::Ete, 5) => {}
            (Protocol::Etm4, _) => return Err(wrong("TRCIDR1", "TRCARCHMAJ", value, "4")),
            (Protocol::Ete, _) => return Err(wrong("TRCDEVARCH", "ARCHVER", value, "5")),
        }
        let version = (value << 4 | minor) as u8;

        let vmid_size = field(r.trcidr2, 14, 10);
        let vmid_bytes = match vmid_size {
            0 | 1 => vmid_size as u8,
            2 | 4 if version > 0x40 => vmid_size as u8,
            value => return Err(wrong("TRCIDR2", "VMIDSIZE", value, "0, 1, or from ETMv4.1 on also 2 or 4")),
        };
        let context_id_bytes = match field(r.trcidr2, 9, 5) {
            size @ (0 | 4) => size as u8,
            value => return Err(wrong("TRCIDR2", "CIDSIZE", value, "0 or 4")),
        };

        let is_ete = r.protocol == Protocol::Ete;
        let on = |bit| field(r.trcconfigr, bit, bit) == 1;
        // COMMOPT has a meaning only if cycle counting exists.
        let commopt = field(r.trcidr0, 29, 29) & field(r.trcidr0, 7, 7);
        Ok(Self {
            headers: HeaderTable::new(r, version),
            vmid_bytes,
            context_id_bytes,
            cycle_counts_commit: commopt == 0,
            max_spec: r.trcidr8,
            cycle_mask: (1 << (field(r.trcidr2, 28, 25) + 12)) - 1,
            return_stack: on(12),
            cycle_counting: on(4),
            branch_broadcast: on(3),
            timestamps: on(11),
            context_ids: on(6) && context_id_bytes != 0,
            vmids: on(7) && vmid_bytes != 0,
            loads_stores_p0: field(r.trcconfigr, 2, 1) as u8,
            waits_are_p0: version >= 0x43 && field(r.trcidr2, 31, 31) == 1,
            transaction_start_is_p0: is_ete && field(r.trcidr0, 30, 30) == 0,
            timestamp_markers: version > 0x50 && field(r.trcidr0, 23, 23) == 1,
            architecture: r.architecture,
            protocol: r.protocol,
            declared: registers.protocol,
            profile: r.profile,
            version,
            id: TraceId::from_low_bits(r.trctraceidr as u8),
        })
    }

    /// Returns the kind of packet that a header byte begins in this configuration.
    pub fn kind(&self, header: u8) -> Kind {
        self.headers.kind(header)
    }

    /// Returns the protocol.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Returns the protocol that the source was declared with. It differs from [`protocol`](Self::protocol) if the
    /// registers contradict the declaration.
    pub fn declared(&self) -> Protocol {
        self.declared
    }

    /// Returns whether this is an ETE.
    pub fn is_ete(&self) -> bool {
        self.protocol == Protocol::Ete
    }

    /// Returns the profile of the traced core.
    pub fn profile(&self) -> CoreProfile {
        self.profile
    }

    /// Returns the architecture of the traced core.
    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// Returns whether cycle counting is enabled (TRCCONFIGR.CCI).
    pub fn cycle_counting(&self) -> bool {
        self.cycle_counting
    }

    /// Returns whether returns that a stack of calls predicts have no address (TRCCONFIGR.RS).
    pub fn has_return_stack(&self) -> bool {
        self.return_stack
    }

    /// Returns whether WFI and WFE have atoms (TRCIDR2.WFXMODE).
    pub fn waits_are_p0(&self) -> bool {
        self.waits_are_p0
    }

    /// Returns the protocol version as (major, minor): 4.x for ETMv4, 1.x for ETE.
    pub fn version(&self) -> (u8, u8) {
        let major = self.version >> 4;
        (if self.is_ete() { major - 4 } else { major }, self.version & 0xf)
    }

    /// Returns the trace ID of the source.
    pub fn id(&self) -> TraceId {
        self.id
    }
}
