//! Cores and trace protocols by the `type=` text of a device.

pub use tracewright_etm::CoreProfile;

/// Level of a core's instruction set, as far as following its program depends on it.
///
/// Levels are ordered: a later one has all branches of the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Architecture {
    /// Armv7 and, for profile M, Armv6: A32 and T32 only.
    V7,
    /// Armv8.0 to 8.2.
    V8,
    /// Armv8.3: pointer-authenticating branches and returns count as branches.
    V8_3,
    /// All later versions, including Armv9: waits with timeout, transactions.
    Aa64,
}

/// CoreProfile and level of a core, from its `type=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CoreKind {
    /// CoreProfile.
    pub profile: CoreProfile,
    /// Level.
    pub architecture: Architecture,
}

impl CoreKind {
    /// Returns the core of a name (`Cortex-A53`, `Neoverse-N1`) or a pattern (`ARMv7-A`, `ARMv8.3-A`,
    /// `ARM-AA64-R`), or `None` if it is unknown. Names are case-sensitive, as in OpenCSD.
    pub fn of(text: &str) -> Option<Self> {
        let (profile, architecture) =
            from_name(text).or_else(|| from_version(text)).or_else(|| from_aa64(text))?;
        Some(Self { profile, architecture })
    }
}

/// Names that OpenCSD knows have OpenCSD's levels: it gives `V8_3` to cores of 8.2 (A55, A65, A75 to A77).
/// That is safe, since a core does not execute encodings it does not define. Newer names follow the same
/// rule.
fn from_name(text: &str) -> Option<(CoreProfile, Architecture)> {
    use Architecture::{Aa64, V7, V8, V8_3};
    if let Some(core) = text.strip_prefix("Cortex-") {
        return Some(match core {
            "A5" | "A7" | "A8" | "A9" | "A12" | "A15" | "A17" => (CoreProfile::A, V7),
            "A32" | "A34" | "A35" | "A53" | "A57" | "A72" | "A73" => (CoreProfile::A, V8),
            "A55" | "A65" | "A65AE" | "A75" | "A76" | "A76AE" | "A77" | "A78" | "A78AE" | "A78C" => {
                (CoreProfile::A, V8_3)
            }
            "X1" | "X1C" => (CoreProfile::A, V8_3),
            "A320" | "A510" | "A520" | "A520AE" | "A710" | "A715" | "A720" | "A720AE" | "A725" => {
                (CoreProfile::A, Aa64)
            }
            "X2" | "X3" | "X4" | "X925" => (CoreProfile::A, Aa64),
            "R4" | "R5" | "R7" | "R8" => (CoreProfile::R, V7),
            "R52" | "R52+" => (CoreProfile::R, V8),
            "R82" | "R82AE" => (CoreProfile::R, Aa64),
            "M0" | "M0+" | "M1" | "M3" | "M4" | "M7" => (CoreProfile::M, V7),
            "M23" | "M33" | "M35P" | "M52" | "M55" | "M85" => (CoreProfile::M, V8),
            _ => return None,
        });
    }
    Some(match text.strip_prefix("Neoverse-")? {
        "E1" | "N1" => (CoreProfile::A, V8_3),
        "N2" | "N3" | "V1" | "V2" | "V3" | "V3AE" => (CoreProfile::A, Aa64),
        _ => return None,
    })
}

/// Parses `ARMv8-M`, `ARMv8.3-A`: major version, minor version if not 0, profile.
fn from_version(text: &str) -> Option<(CoreProfile, Architecture)> {
    let (version, letter) = text.strip_prefix("ARMv")?.split_once('-')?;
    let architecture = match version.split_once('.').unwrap_or((version, "0")) {
        ("7", "0") => Architecture::V7,
        ("8", "0" | "1" | "2") => Architecture::V8,
        ("8", "3") => Architecture::V8_3,
        ("8" | "9", minor) if matches!(minor.as_bytes(), [b'0'..=b'9']) => Architecture::Aa64,
        _ => return None,
    };
    Some((profile(letter)?, architecture))
}

/// Parses `ARM-AA64`, `ARM-aa64-R`.
fn from_aa64(text: &str) -> Option<(CoreProfile, Architecture)> {
    let rest = text.strip_prefix("ARM-AA64").or_else(|| text.strip_prefix("ARM-aa64"))?;
    let profile = if rest.is_empty() { CoreProfile::A } else { profile(rest.strip_prefix('-')?)? };
    Some((profile, Architecture::Aa64))
}

fn profile(letter: &str) -> Option<CoreProfile> {
    Some(match letter {
        "A" => CoreProfile::A,
        "R" => CoreProfile::R,
        "M" => CoreProfile::M,
        _ => return None,
    })
}

/// Protocol of a trace source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Embedded Trace Macrocell, version 4.
    Etm4,
    /// Embedded Trace Extension: ETMv4's successor.
    Ete,
    /// Embedded Trace Macrocell, version 3.
    Etm3,
    /// Program Trace Macrocell (program flow trace 1).
    Ptm,
    /// System Trace Macrocell.
    Stm,
    /// Instrumentation Trace Macrocell.
    Itm,
}

impl Protocol {
    /// Returns the protocol that a source's `type=` names: the text before the first `.`, so `ETM4.2` is
    /// [`Etm4`](Self::Etm4).
    pub fn of(text: &str) -> Option<Self> {
        Some(match text.split('.').next()? {
            "ETM4" => Self::Etm4,
            "ETE" => Self::Ete,
            "ETM3" => Self::Etm3,
            "PTM1" | "PFT1" => Self::Ptm,
            "STM" => Self::Stm,
            "ITM" => Self::Itm,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = CoreKind::of(text)
            .map_or_else(|| "none".to_owned(), |kind| format!("{:?} {:?}", kind.profile, kind.architecture));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn names() {
        for (names, expected) in [
            ("Cortex-A5 Cortex-A9 Cortex-A15 Cortex-A17", "A V7"),
            ("Cortex-A32 Cortex-A53 Cortex-A57 Cortex-A72", "A V8"),
            ("Cortex-A55 Cortex-A75 Cortex-A77 Cortex-A78 Cortex-X1 Neoverse-N1", "A V8_3"),
            ("Cortex-A710 Cortex-X2 Cortex-X925 Neoverse-V1 Neoverse-N2 Neoverse-V2", "A Aa64"),
            ("Cortex-R4 Cortex-R8", "R V7"),
            ("Cortex-R52", "R V8"),
            ("Cortex-R82", "R Aa64"),
            ("Cortex-M0 Cortex-M0+ Cortex-M3 Cortex-M4 Cortex-M7", "M V7"),
            ("Cortex-M23 Cortex-M33 Cortex-M35P Cortex-M55 Cortex-M85", "M V8"),
            ("Cortex-A Cortex-A530 cortex-a53 Cortex- Neoverse-N9 Neoverse Denver2 ARM", "none"),
        ] {
            names.split(' ').for_each(|name| check(name, expected));
        }
        check("", "none");
    }

    #[test]
    fn patterns() {
        for (patterns, expected) in [
            ("ARMv7-A", "A V7"),
            ("ARMv7-M", "M V7"),
            ("ARMv8-A ARMv8.0-A ARMv8.2-A", "A V8"),
            ("ARMv8-M ARMv8.1-M", "M V8"),
            ("ARMv8.3-A", "A V8_3"),
            ("ARMv8.4-A ARMv8.9-A ARMv9-A ARMv9.3-A ARM-AA64 ARM-aa64 ARM-AA64-A", "A Aa64"),
            ("ARMv8.4-R ARM-aa64-R", "R Aa64"),
            ("ARM-AA64-M", "M Aa64"),
            ("ARMv8 ARMv8.3 ARMv8-a ARMv8-AA ARMv6-M ARMv7.1-A ARMv10-A ARMv8.x-A ARMv8.-A ARMv-A", "none"),
            ("ARM-aA64 ARM-AA64R ARM-AA64- ARM-AA64-X ARMv armv8-a", "none"),
        ] {
            patterns.split(' ').for_each(|pattern| check(pattern, expected));
        }
    }

    #[test]
    fn later_levels_are_greater() {
        assert!(Architecture::V7 < Architecture::V8 && Architecture::V8_3 < Architecture::Aa64);
    }

    #[test]
    fn protocols() {
        for (text, expected) in [
            ("ETM4", Some(Protocol::Etm4)),
            ("ETM4.2", Some(Protocol::Etm4)),
            ("ETE", Some(Protocol::Ete)),
            ("ETM3.5", Some(Protocol::Etm3)),
            ("PTM1.0", Some(Protocol::Ptm)),
            ("PFT1.1", Some(Protocol::Ptm)),
            ("STM", Some(Protocol::Stm)),
            ("ITM", Some(Protocol::Itm)),
            ("ETM5", None),
            ("etm4", None),
            ("", None),
        ] {
            assert_eq!(Protocol::of(text), expected, "{text}");
        }
    }
}
