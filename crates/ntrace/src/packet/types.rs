//! Values of fields.

use core::ops::Deref;

use tracewright_core::Isa;

use crate::params::address_mask;
use crate::{Dialect, Params};

/// An address without its lowest bit, or the difference of two (XOR), as it was sent.
///
/// Two with the same value differ if they were sent in different numbers of bits: the top bit may stand for more of the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The bits that were sent.
    pub value: u64,
    /// Number of bits that were sent.
    pub bits: u16,
}

/// Bits of data in a byte.
const MDO: u32 = 6;

impl Address {
    /// Returns an address, or a difference, in the fewest bits.
    pub fn new(address: u64, params: &Params, isa: Isa) -> Self {
        let value = (address & address_mask(isa)) >> 1;
        let plain = (64 - value.leading_zeros()).next_multiple_of(MDO).max(MDO);
        let shortened = match params.dialect {
            Dialect::Standard => MDO..plain,
            Dialect::Spacemit | Dialect::Sifive => FIELD_TOP..plain.min(FIELD_TOP + 1),
        };
        if params.extend_addr_msb || params.dialect != Dialect::Standard {
            let shortened = shortened.step_by(MDO as usize);
            let extended = shortened.map(|bits| Self { value: low(value, bits), bits: bits as u16 });
            // A top bit of 1 stands for more of them: another byte stops that.
            let stopped = [plain, plain + MDO].map(|bits| Self { value, bits: bits as u16 });
            let mut all = extended.chain(stopped);
            if let Some(found) = all.find(|sent| sent.whole(params, isa) == value << 1) {
                return found;
            }
        }
        Self { value, bits: plain as u16 }
    }

    /// Returns the address, or the difference.
    pub fn whole(self, params: &Params, isa: Isa) -> u64 {
        let bits = u32::from(self.bits);
        let is_extended = match params.dialect {
            Dialect::Standard => {
                params.extend_addr_msb && bits > 0 && bits < 64 && self.value >> (bits - 1) & 1 == 1
            }
            Dialect::Spacemit | Dialect::Sifive => self.value >> (FIELD_TOP - 1) == 1,
        };
        let from = if params.dialect == Dialect::Standard { bits } else { FIELD_TOP };
        let value = if is_extended { self.value | u64::MAX << from } else { self.value };
        value << 1 & address_mask(isa)
    }
}

/// Bits of SpacemiT's and SiFive's addresses, the highest of which stands for all above.
const FIELD_TOP: u32 = 48;

/// Returns the lowest bits of a value.
const fn low(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// Up to four numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values {
    values: [u64; 4],
    len: usize,
}

impl Values {
    /// Adds a number. A fifth one is left out.
    pub fn push(&mut self, value: u64) {
        if let Some(slot) = self.values.get_mut(self.len) {
            *slot = value;
            self.len += 1;
        }
    }
}

impl Deref for Values {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.values[..self.len]
    }
}

/// Contents of PROCESS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Kind of context: 0 none, 2 `scontext`, 3 `hcontext`.
    pub format: u8,
    /// Privilege: 0 U, 1 S, 3 M.
    pub privilege: u8,
    /// Whether the hart is virtualised.
    pub is_virtual: bool,
    /// The context.
    pub context: u64,
}

impl Process {
    /// Takes the field apart.
    pub const fn of(process: u64) -> Self {
        Self {
            format: process as u8 & 3,
            privilege: process as u8 >> 2 & 3,
            is_virtual: process >> 4 & 1 == 1,
            context: process >> 5,
        }
    }

    /// Returns the field.
    pub const fn field(&self) -> u64 {
        (self.format & 3) as u64
            | ((self.privilege & 3) as u64) << 2
            | (self.is_virtual as u64) << 4
            | self.context << 5
    }
}

/// A history: branches below a 1, the first one highest. Taken is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    bits: u64,
    count: u32,
}

impl History {
    /// Without any branch.
    pub const EMPTY: Self = Self { bits: 0, count: 0 };

    /// Takes a field apart. Returns `None` for 0, which has no 1 above the branches.
    pub const fn of(field: u64) -> Option<Self> {
        match field {
            0 => None,
            _ => Some(Self { bits: field, count: 63 - field.leading_zeros() }),
        }
    }

    /// Returns the number of branches.
    #[inline(always)]
    pub const fn len(self) -> u32 {
        self.count
    }

    /// Returns whether there is no branch.
    pub const fn is_empty(self) -> bool {
        self.count == 0
    }
}

/// The outcomes, from the first branch on.
impl Iterator for History {
    type Item = bool;

    #[inline(always)]
    fn next(&mut self) -> Option<bool> {
        self.count = self.count.checked_sub(1)?;
        Some(self.bits >> self.count & 1 == 1)
    }
}
