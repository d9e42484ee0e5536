//! simpleperf's branch lists (`inject --output branch-list`): which branches were taken or not after an address, and
//! how often. A device can make them without the program; with the program they become a profile.
//!
//! `format.rs` reads and writes the bytes; `expand.rs` converts to and from profiles.

mod expand;
mod format;

use std::collections::BTreeMap;

pub use expand::{Expanded, of_profile};
pub use format::{ReadError, is_branch_list, read, write};

/// Branches by binary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchList {
    /// Binaries.
    pub binaries: Vec<Listed>,
}

/// Branches of one binary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Path on the device.
    pub path: String,
    /// Build ID as recorded, padded with zeros to 20 bytes.
    pub build_id: Vec<u8>,
    /// Kind of binary.
    pub kind: ListedKind,
    /// Address of the kernel in memory, if the kernel's addresses are memory addresses. `None` if they are link-time addresses.
    pub kernel_start: Option<u64>,
    /// Sequences of branches by start address, with their counts.
    pub branches: BTreeMap<u64, BTreeMap<Outcomes, u64>>,
}

/// Kind of a binary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListedKind {
    /// Program or library.
    #[default]
    Elf,
    /// Kernel.
    Kernel,
    /// Kernel module.
    Module,
}

/// Sequence of branch outcomes: taken or not taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outcomes {
    /// Number of outcomes.
    len: u32,
    /// One bit for each outcome, the lowest first. Unused bits are 0.
    bits: Vec<u8>,
}

impl Listed {
    /// Adds `distance` (modulo 2^64) to all addresses, to convert memory addresses to link-time addresses.
    #[must_use]
    pub fn moved(&self, distance: u64) -> Self {
        let at = |address: &u64| address.wrapping_add(distance);
        let branches =
            self.branches.iter().map(|(address, branches)| (at(address), branches.clone())).collect();
        Self { kernel_start: None, branches, ..self.clone() }
    }
}

impl Outcomes {
    /// Takes `len` outcomes from `bits`, the lowest bit first. Returns `None` if `bits` is too short.
    pub fn new(bits: &[u8], len: u32) -> Option<Self> {
        let bytes = len.div_ceil(8) as usize;
        let mut bits = bits.get(..bytes)?.to_vec();
        if let (Some(last), 1..) = (bits.last_mut(), len % 8) {
            *last &= (1 << (len % 8)) - 1;
        }
        Some(Self { len, bits })
    }

    /// Iterates over the outcomes in order; `true` means taken.
    pub fn iter(&self) -> impl Iterator<Item = bool> {
        (0..self.len as usize).map(|at| self.bits[at / 8] >> (at % 8) & 1 != 0)
    }

    /// Returns the number of outcomes.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns whether there are no outcomes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl From<bool> for Outcomes {
    fn from(taken: bool) -> Self {
        Self { len: 1, bits: vec![taken.into()] }
    }
}
