//! ID registers of trace units of well-known cores, so that nobody has to read them off the chip.

/// The ETMv4 of a core: its name in `preset=`, the core's type, and the values of its read-only registers.
pub(crate) struct Preset {
    pub(crate) name: &'static str,
    pub(crate) core: &'static str,
    pub(crate) registers: &'static [(&'static str, u32)],
}

/// All presets. Values as the cores' reference manuals and owners of such chips give them: no such chip was at hand.
pub(crate) const PRESETS: &[Preset] = &[
    // ETM-M7: ETMv4.0, 64-bit timestamps, two events, return stack, cycle counts, branch broadcast.
    Preset {
        name: "cortex-m7",
        core: "Cortex-M7",
        registers: &[("TRCIDR0", 0x0800_06e1), ("TRCIDR1", 0x4100_f401), ("TRCIDR2", 0x4)],
    },
    // ETM-M33, also of RP2350: ETMv4.2, else as ETM-M7, with commit mode 1.
    Preset { name: "cortex-m33", core: "Cortex-M33", registers: ETM_M33 },
    Preset { name: "cortex-m35p", core: "Cortex-M35P", registers: ETM_M33 },
    Preset { name: "rp2350", core: "Cortex-M33", registers: ETM_M33 },
    // ETMv4.5, else as ETM-M33.
    Preset { name: "cortex-m52", core: "Cortex-M52", registers: ETM_M55 },
    Preset { name: "cortex-m55", core: "Cortex-M55", registers: ETM_M55 },
    Preset { name: "cortex-m85", core: "Cortex-M85", registers: ETM_M55 },
];

const ETM_M33: &[(&str, u32)] = &[("TRCIDR0", 0x2800_06e1), ("TRCIDR1", 0x4100_f421), ("TRCIDR2", 0x4)];
const ETM_M55: &[(&str, u32)] = &[("TRCIDR0", 0x2800_06e1), ("TRCIDR1", 0x4100_f454), ("TRCIDR2", 0x4)];

/// Returns the preset with this name, in upper or lower case.
///
/// # Errors
/// If there is none, with the names that there are.
pub(crate) fn named(name: &str) -> Result<&'static Preset, String> {
    PRESETS.iter().find(|preset| preset.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        format!("preset={name}: expected one of {}", names.join(", "))
    })
}
