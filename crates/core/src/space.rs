use core::fmt;

/// A set of memory spaces, each a pair of exception level and security state. The set may belong to one process.
///
/// One address may hold different bytes in different spaces. EL0 uses the space of EL1.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemorySpace(u32);

/// Lowest bit of the process number.
const PROCESS: u32 = 8;

/// Names of sets in trace snapshots. The first name of a mask is the one that is printed.
const NAMES: [(&str, MemorySpace); 17] = [
    ("EL1S", MemorySpace::EL1S),
    ("EL1N", MemorySpace::EL1N),
    ("EL1R", MemorySpace::EL1R),
    ("EL2S", MemorySpace::EL2S),
    ("EL2", MemorySpace::EL2),
    ("EL2R", MemorySpace::EL2R),
    ("EL3", MemorySpace::EL3),
    ("ROOT", MemorySpace::ROOT),
    ("S", MemorySpace::S),
    ("N", MemorySpace::N),
    ("R", MemorySpace::R),
    ("any", MemorySpace::ANY),
    // Aliases, some older than exception levels (hypervisor, privileged, secure privileged).
    ("EL2N", MemorySpace::EL2),
    ("H", MemorySpace::EL2),
    ("P", MemorySpace::EL1N),
    ("NP", MemorySpace::EL1N),
    ("SP", MemorySpace::EL1S),
];

impl MemorySpace {
    /// Secure EL1 and EL0.
    pub const EL1S: Self = Self(0x01);
    /// Non-secure EL1 and EL0.
    pub const EL1N: Self = Self(0x02);
    /// Non-secure EL2.
    pub const EL2: Self = Self(0x04);
    /// EL3.
    pub const EL3: Self = Self(0x08);
    /// Secure EL2.
    pub const EL2S: Self = Self(0x10);
    /// Realm EL1 and EL0.
    pub const EL1R: Self = Self(0x20);
    /// Realm EL2.
    pub const EL2R: Self = Self(0x40);
    /// Root.
    pub const ROOT: Self = Self(0x80);
    /// All secure spaces: EL1S, EL2S, EL3.
    pub const S: Self = Self(0x19);
    /// All non-secure spaces: EL1N, EL2.
    pub const N: Self = Self(0x06);
    /// All realm spaces: EL1R, EL2R.
    pub const R: Self = Self(0x60);
    /// Every space. Memory whose space is not given is in all of them.
    pub const ANY: Self = Self(0xff);

    /// Returns the space that trace snapshots call `name`, in upper or lower case.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|&(_, space)| space)
    }

    /// Highest number of a process.
    pub const LAST_PROCESS: u32 = (1 << 21) - 1;

    /// Returns the set as a bit mask, with a bit for each space.
    pub const fn bits(self) -> u8 {
        self.0 as u8
    }

    /// Returns the set of a bit mask.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits as u32)
    }

    /// Returns the number of the process that the set belongs to, up to [`LAST_PROCESS`](Self::LAST_PROCESS), or 0 if
    /// it belongs to no process in particular. The caller assigns these numbers.
    pub const fn process(self) -> u32 {
        self.0 >> PROCESS
    }

    /// Returns the same spaces for `process`.
    pub const fn of_process(self, process: u32) -> Self {
        Self((process & Self::LAST_PROCESS) << PROCESS | self.0 & 0xff)
    }

    /// Returns whether the two sets have a space in common. A set of no particular process overlaps those of all
    /// processes.
    pub const fn overlaps(self, other: Self) -> bool {
        let same = self.process() == other.process() || self.process() == 0 || other.process() == 0;
        self.bits() & other.bits() != 0 && same
    }
}

impl Default for MemorySpace {
    fn default() -> Self {
        Self::ANY
    }
}

/// Writes the name in trace snapshots: `any`, `EL1N`, `S`. The process is not written.
impl fmt::Display for MemorySpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, space)| space.bits() == self.bits()) {
            Some((name, _)) => f.pad(name),
            None => write!(f, "{:#04x}", self.bits()),
        }
    }
}

impl fmt::Debug for MemorySpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process() {
            0 => write!(f, "MemorySpace({self})"),
            process => write!(f, "MemorySpace({self} of {process})"),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::{format, string::ToString, vec::Vec};

    use super::*;

    #[test]
    fn names_and_masks_are_those_of_the_format() {
        let table = "EL1S 01 EL1N 02 EL2 04 EL3 08 EL2S 10 EL1R 20 EL2R 40 ROOT 80 S 19 N 06 R 60 ANY ff \
                     EL2N 04 H 04 P 02 NP 02 SP 01";
        let words: Vec<_> = table.split_whitespace().collect();
        assert_eq!(words.len(), 2 * NAMES.len());
        for pair in words.chunks(2) {
            let space = MemorySpace::from_name(pair[0]).expect(pair[0]);
            assert_eq!(format!("{:02x}", space.bits()), pair[1], "{}", pair[0]);
            assert_eq!(MemorySpace::from_name(&space.to_string()), Some(space));
        }
        assert_eq!(MemorySpace::from_name("EL0"), None);
        assert_eq!(MemorySpace::from_name(""), None);
    }

    #[test]
    fn display_uses_the_modern_name() {
        let shown = ["ANY", "NP", "S", "H"].map(|name| MemorySpace::from_name(name).unwrap().to_string());
        assert_eq!(shown, ["any", "EL1N", "S", "EL2"]);
    }

    #[test]
    fn groups_overlap_their_members() {
        assert!(MemorySpace::S.overlaps(MemorySpace::EL2S));
        assert!(!MemorySpace::N.overlaps(MemorySpace::EL1S));
        assert!(MemorySpace::ANY.overlaps(MemorySpace::ROOT));
    }

    #[test]
    fn processes_have_spaces_of_their_own() {
        let (one, two) = (MemorySpace::EL1N.of_process(1), MemorySpace::N.of_process(2));
        assert!(!one.overlaps(two) && one.overlaps(MemorySpace::ANY) && two.overlaps(MemorySpace::EL2));
        let last = one.of_process(MemorySpace::LAST_PROCESS);
        assert_eq!((last.process(), last.bits()), (MemorySpace::LAST_PROCESS, one.bits()));
        assert_eq!(last.of_process(0), MemorySpace::EL1N);
        assert_eq!((one.to_string(), format!("{two:?}")), ("EL1N".into(), "MemorySpace(N of 2)".into()));
    }
}
