use crate::params::{Architecture, Profile, Protocol};

/// The trace unit's registers that decide how its stream is read, under their spec names, and the two
/// facts about the core that no trace register tells.
///
/// The default is an ETMv4.0 on an A-profile core with nothing optional switched on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    /// ETMv4 or ETE.
    pub protocol: Protocol,
    /// The traced core's profile: M-profile numbers its exceptions differently.
    pub profile: Profile,
    /// The traced core's architecture: Function Return packets exist from v8-M on.
    pub architecture: Architecture,
    /// Trace Configuration Register: what is switched on.
    pub trcconfigr: u32,
    /// Trace ID Register: the source's ID on the trace bus, bits 6:0.
    pub trctraceidr: u32,
    /// ID Register 0: what is implemented.
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
            profile: Profile::A,
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
    /// What a reader takes for TRCIDR1 when a capture leaves it out: ETMv4.0.
    pub const DEFAULT_TRCIDR1: u32 = 0x4100_f403;
    /// What a reader takes for TRCDEVARCH when a capture leaves it out: ETE 1.0.
    pub const DEFAULT_TRCDEVARCH: u32 = 0x4770_5a13;

    /// Returns the registers as the trace unit means them. TRCIDR1.TRCARCHMAJ = 0xf says that TRCDEVARCH has the architecture: such
    /// a unit is an ETE, whatever it was recorded as, unless TRCDEVARCH is that of an ETMv4.
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

    /// The registers by name, those that the protocol has.
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

/// Bits `high..=low` of a register.
pub const fn field(register: u32, high: u32, low: u32) -> u32 {
    (register >> low) & (u32::MAX >> (31 - (high - low)))
}
