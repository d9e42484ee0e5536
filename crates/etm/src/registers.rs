use crate::params::{Architecture, CoreProfile, Protocol};

/// The registers of a trace unit that determine how its stream is decoded, under their names in the specification,
/// and two properties of the core that no trace register holds.
///
/// The default is an ETMv4.0 on an A-profile core with no options enabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    /// ETMv4 or ETE.
    pub protocol: Protocol,
    /// CoreProfile of the traced core. M profile has other exception numbers.
    pub profile: CoreProfile,
    /// Architecture of the traced core. Function Return packets exist from v8-M on.
    pub architecture: Architecture,
    /// Trace Configuration Register: enabled options.
    pub trcconfigr: u32,
    /// Trace ID Register: ID of the source on the trace bus, bits 6:0.
    pub trctraceidr: u32,
    /// ID Register 0: implemented options.
    pub trcidr0: u32,
    /// ID Register 1: the ETMv4 version.
    pub trcidr1: u32,
    /// ID Register 2: field sizes.
    pub trcidr2: u32,
    /// ID Register 8: maximum speculation depth.
    pub trcidr8: u32,
    /// Device Architecture Register: the ETE version.
    pub trcdevarch: u32,
}

impl Default for Registers {
    fn default() -> Self {
        Self {
            protocol: Protocol::Etm4,
            profile: CoreProfile::A,
            architecture: Architecture::V8,
            trcconfigr: 0x0000_0001,
            trctraceidr: 0,
            // 48-bit timestamps, one event.
            trcidr0: 0x0600_0001,
            trcidr1: Self::DEFAULT_TRCIDR1,
            // 64-bit addresses, 32-bit context IDs, 8-bit VMIDs.
            trcidr2: 0x0000_0488,
            trcidr8: 0,
            trcdevarch: Self::DEFAULT_TRCDEVARCH,
        }
    }
}

impl Registers {
    /// Default of TRCIDR1 if a capture does not have it: ETMv4.0.
    pub const DEFAULT_TRCIDR1: u32 = 0x4100_f403;
    /// Default of TRCDEVARCH if a capture does not have it: ETE 1.0.
    pub const DEFAULT_TRCDEVARCH: u32 = 0x4770_5a13;

    /// Returns the registers with the protocol that the trace unit implements. If TRCIDR1.TRCARCHMAJ is 0xf,
    /// TRCDEVARCH has the architecture: the unit is then an ETE, whatever the capture declares, unless TRCDEVARCH is
    /// that of an ETMv4.
    pub(crate) fn resolved(&self) -> Self {
        const ETM4: u32 = 0x4a13;
        let mut registers = self.clone();
        if self.protocol == Protocol::Etm4 && field(self.trcidr1, 11, 8) == 0xf {
            if self.trcdevarch & 0xffff == ETM4 {
                let version = 4 << 8 | field(self.trcdevarch, 19, 16) << 4;
                registers.trcidr1 = self.trcidr1 & !0xff0 | version;
            } else {
                registers.protocol = Protocol::Ete;
            }
        }
        registers
    }

    /// Returns the registers that the protocol has, with their names.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let ete = self.protocol == Protocol::Ete;
        let all = [
            ("TRCCONFIGR", self.trcconfigr),
            ("TRCTRACEIDR", self.trctraceidr),
            ("TRCIDR0", self.trcidr0),
            ("TRCIDR1", self.trcidr1),
            ("TRCIDR2", self.trcidr2),
            ("TRCIDR8", self.trcidr8),
            ("TRCDEVARCH", self.trcdevarch),
        ];
        all.into_iter().take(if ete { 7 } else { 6 })
    }
}

/// Returns bits `high..=low` of a register.
pub const fn field(register: u32, high: u32, low: u32) -> u32 {
    (register >> low) & (u32::MAX >> (31 - (high - low)))
}
