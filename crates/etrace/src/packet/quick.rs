//! Payloads of the packets that make up nearly everything, in one register: what [`emit_into`](super::emit_into) makes, quicker.

use super::read::map_width;
use super::{Address, BranchMap, Packet};
use crate::Params;

/// A string of at most 128 bits, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    bits: u128,
    width: u32,
}

/// Bits of such a payload at most, but for address and returns: format, branches, and what is told of an address.
const OTHERS: u32 = 2 + 5 + 31 + 3;

impl Short {
    /// A string that has `bits` first, and then the packet's payload; `None` if it is one of the others, or may be too long.
    #[inline]
    pub(crate) fn of(packet: &Packet, params: &Params, bits: u64, width: u32) -> Option<Self> {
        let most = width + OTHERS + params.address_bits() + params.returns_bits();
        if most > 128 || params.address_bytes {
            return None;
        }
        let mut short = Self { bits: bits.into(), width };
        match packet {
            Packet::JumpTarget { index, branches, returns } => {
                let fields = u32::from(params.f0s_width) + u32::from(params.cache_size);
                if most + fields > 128 {
                    return None;
                }
                short.put(0, 2);
                short.put(1, params.f0s_width.into());
                short.put((*index).into(), params.cache_size.into());
                short.branches(*branches);
                short.returns(*returns, params);
            }
            Packet::Branches(branches, Some(address)) if !branches.is_empty() => {
                short.put(1, 2);
                short.branches(*branches);
                short.address(address, params);
            }
            Packet::Address(address) => {
                short.put(2, 2);
                short.address(address, params);
            }
            _ => return None,
        }
        Some(short)
    }

    #[inline]
    fn put(&mut self, value: u64, width: u32) {
        let value = if width == 0 { 0 } else { value & (u64::MAX >> (64 - width)) };
        self.bits |= u128::from(value) << self.width;
        self.width += width;
    }

    /// A bit that differs from the one before it if `asserted`.
    #[inline]
    fn change(&mut self, asserted: bool) -> bool {
        let bit = (self.bits >> (self.width - 1) & 1 != 0) != asserted;
        self.put(bit.into(), 1);
        bit
    }

    #[inline]
    fn branches(&mut self, map: BranchMap) {
        let (count, bits) = (map.count(), u64::from(map.bits()));
        self.put(u64::from(count) | bits << 5, 5 + map_width(count as u8));
    }

    #[inline]
    fn address(&mut self, address: &Address, params: &Params) {
        self.put(address.value >> params.iaddress_lsb, params.address_bits());
        self.change(address.notify);
        self.change(address.updiscon);
        self.returns(address.returns, params);
    }

    #[inline]
    fn returns(&mut self, reported: Option<u32>, params: &Params) {
        let bit = self.change(reported.is_some());
        let value = match reported {
            Some(value) => value.into(),
            None if bit || params.irdepth_ones => u64::MAX,
            None => 0,
        };
        self.put(value, params.returns_bits());
    }

    /// The string with what repeats its last bit left out: its bytes, of which so many count, `least` at least.
    #[inline]
    pub(crate) fn bytes(self, least: usize) -> ([u8; 16], usize) {
        // All bits above the string are as its last one.
        let unused = 128 - self.width;
        let whole = (self.bits << unused) as i128 >> unused;
        let repeated = if whole < 0 { whole.leading_ones() } else { whole.leading_zeros() };
        // One bit more, for the sign.
        let len = (129 - repeated).div_ceil(8) as usize;
        (whole.to_le_bytes(), len.max(least))
    }
}
