//! simpleperf's branch lists (`inject --output branch-list`): from which addresses which branches were taken or not, how often. A
//! device can make them without the program; whoever has the program makes a profile of them.
//!
//! `format.rs` (bytes), `expand.rs` (to a profile, and back).

mod expand;
mod format;

use std::collections::BTreeMap;

pub use expand::{Expanded, of_profile};
pub use format::{is_branch_list, read, write};

/// What ran, by binary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchList {
    /// The binaries.
    pub binaries: Vec<Listed>,
}

/// What ran of a binary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Its path where it ran.
    pub path: String,
    /// Its build ID, as told: filled up with zeros to 20 bytes.
    pub build_id: Vec<u8>,
    /// What it is.
    pub kind: ListedKind,
    /// Where the kernel began in memory: addresses of the kernel are those there. `None` if they are those it was linked for.
    pub kernel_start: Option<u64>,
    /// By address: the branches that came next, and how often.
    pub branches: BTreeMap<u64, BTreeMap<Outcomes, u64>>,
}

/// What a binary is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListedKind {
    /// A program or a library.
    #[default]
    Elf,
    /// The kernel.
    Kernel,
    /// A module of the kernel.
    Module,
}

/// Branches one after another: taken or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outcomes {
    /// How many.
    len: u32,
    /// A bit each, the lowest first; those beyond the length are 0.
    bits: Vec<u8>,
}

impl Listed {
    /// The same with addresses that are larger by `distance` (modulo 2^64): from those in memory to those it was linked for.
    #[must_use]
    pub fn moved(&self, distance: u64) -> Self {
        let at = |address: &u64| address.wrapping_add(distance);
        let branches =
            self.branches.iter().map(|(address, branches)| (at(address), branches.clone())).collect();
        Self { kernel_start: None, branches, ..self.clone() }
    }
}

impl Outcomes {
    /// As bits, the lowest first; `None` if there are not enough bytes for so many.
    #[must_use]
    pub fn new(bits: &[u8], len: u32) -> Option<Self> {
        let bytes = len.div_ceil(8) as usize;
        let mut bits = bits.get(..bytes)?.to_vec();
        if let (Some(last), 1..) = (bits.last_mut(), len % 8) {
            *last &= (1 << (len % 8)) - 1;
        }
        Some(Self { len, bits })
    }

    /// Whether each was taken, in order.
    pub fn iter(&self) -> impl Iterator<Item = bool> {
        (0..self.len as usize).map(|at| self.bits[at / 8] >> (at % 8) & 1 != 0)
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl From<bool> for Outcomes {
    fn from(taken: bool) -> Self {
        Self { len: 1, bits: vec![taken.into()] }
    }
}
