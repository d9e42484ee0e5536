//! Bases of differences, mirrored by encoder and decoder.

use super::Dialect;
use super::types::Diff;
use crate::Params;
use crate::bits::sign_extended;

/// Last accesses, by size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct History {
    dialect: Dialect,
    last: [Last; 4],
    csr: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Last {
    /// Address, and its sent form if it was sent whole.
    address: Option<(u64, u64)>,
    value: Option<u64>,
}

impl History {
    pub fn new(dialect: Dialect) -> Self {
        let mut history = Self { dialect, last: [Last::default(); 4], csr: None };
        history.forget();
        history
    }

    /// Clears the history, so that the next access of each size is sent whole.
    pub fn forget(&mut self) {
        self.last = match self.dialect {
            Dialect::Standard => [Last::default(); 4],
            // The reference model does not wait for a whole access: every base is 0.
            Dialect::Reference => [Last { address: Some((0, 0)), value: Some(0) }; 4],
        };
        self.csr = None;
    }

    /// Returns the base of an address difference, in its sent form.
    pub fn address(&self, size: u8, aligned: bool) -> Option<u64> {
        let (address, sent) = self.last[usize::from(size)].address?;
        Some(match self.dialect {
            Dialect::Standard if aligned => address >> size,
            Dialect::Standard => address,
            Dialect::Reference => sent,
        })
    }

    /// Returns whether the last address of that size was a multiple of it.
    pub fn was_aligned(&self, size: u8) -> bool {
        self.last[usize::from(size)].address.is_some_and(|(address, _)| address & ((1 << size) - 1) == 0)
    }

    pub fn set_address(&mut self, size: u8, address: Option<u64>, aligned: bool) {
        let sent = |address| if aligned { address >> size } else { address };
        self.last[usize::from(size)].address = address.map(|address| (address, sent(address)));
    }

    pub fn value(&self, size: u8) -> Option<u64> {
        self.last[usize::from(size)].value
    }

    pub fn set_value(&mut self, size: u8, value: Option<u64>) {
        self.last[usize::from(size)].value = value;
    }

    /// Returns the number of a CSR, given the `sent` value.
    pub fn csr(&mut self, sent: u16, difference: bool) -> Option<u16> {
        let number = if difference && self.dialect == Dialect::Standard {
            self.csr.map(|last| last.wrapping_add(sent) & 0xfff)
        } else {
            Some(sent)
        };
        self.csr = number;
        number
    }
}

/// Returns the sign-extended bits to send for `value`, as wide as an access of this size.
pub(super) fn compressed(dialect: Dialect, diff: Diff, value: u64, base: u64, size: u8) -> u64 {
    let bits = match (diff, dialect) {
        (Diff::Full | Diff::Address, _) => value,
        (Diff::Xor, Dialect::Standard) => value ^ base,
        (Diff::Difference, _) | (Diff::Xor, Dialect::Reference) => value.wrapping_sub(base),
    };
    match dialect {
        Dialect::Standard => sign_extended(bits, 8 << size) as u64,
        // Values are unsigned, differences are signed.
        Dialect::Reference => bits,
    }
}

/// Returns the value that the sent `bits` stand for, if it is known.
pub(super) fn expanded(dialect: Dialect, diff: Diff, bits: u64, base: Option<u64>, size: u8) -> Option<u64> {
    let value = match (diff, dialect) {
        (Diff::Full | Diff::Address, _) => bits,
        (Diff::Xor, Dialect::Standard) => base? ^ bits,
        (Diff::Difference, _) | (Diff::Xor, Dialect::Reference) => base?.wrapping_add(bits),
    };
    Some(value & (u64::MAX >> (64 - (8 << size))))
}

/// Returns whether operands are compressed like data; otherwise they are sent whole.
pub(super) fn operands_are_compressed(params: &Params) -> bool {
    params.mmacas_ext || params.data_dialect == Dialect::Reference
}
