//! Fast path of [`emit_into`](super::emit_into) for the most frequent packets: the payload stays in one
//! register.

use super::read::map_width;
use super::{Address, BranchMap, Packet};
use crate::Params;
use crate::bits::sign_extended;

/// String of at most 128 bits, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    /// Value of the string. Bits above it equal its last bit, so bits that repeat it need not be written.
    whole: i128,
    width: u32,
}

/// Most bits of such a payload apart from address and returns: format, branches and the flags of an address.
const OTHERS: u32 = 2 + 5 + 31 + 3;

impl Short {
    /// Creates a string of `bits` followed by the payload of `packet`. Returns `None` if the packet is not a
    /// frequent one or may be too long.
    #[inline]
    pub(crate) fn of(packet: &Packet, params: &Params, bits: u64, width: u32) -> Option<Self> {
        if !Self::suits(params, width) {
            return None;
        }
        // `if` instead of `match`: a single jump to all cases is predicted badly.
        if let Packet::Branches(map, Some(address)) = packet
            && !map.is_empty()
        {
            return Some(Self::branches_and_address(*map, address, params, bits, width));
        }
        if let Packet::Branches(map, None) = packet
            && map.is_full()
        {
            let (bits, width) = (bits | 1 << width | u64::from(map.bits()) << (width + 7), width + 7 + 31);
            return Some(Self { whole: sign_extended(bits, width).into(), width });
        }
        if let Packet::JumpTarget { index, branches, returns } = packet {
            return Some(Self::jump_target(*index, *branches, *returns, params, bits, width));
        }
        if let Packet::Address(address) = packet {
            let mut short = Self { whole: (bits | 2 << width).into(), width: width + 2 };
            short.address(address, params);
            return Some(short);
        }
        None
    }

    /// Returns whether every such packet fits behind `width` bits with these parameters.
    #[inline]
    pub(crate) fn suits(params: &Params, width: u32) -> bool {
        let most = width + indices(params) + OTHERS;
        most <= 64 && most + params.address_bits() + params.returns_bits() <= 127 && !params.address_bytes
    }

    #[inline]
    pub(crate) fn branches_and_address(
        map: BranchMap,
        address: &Address,
        params: &Params,
        bits: u64,
        width: u32,
    ) -> Self {
        let mut short = Self::branches(bits | 1 << width, width + 2, map);
        short.address(address, params);
        short
    }

    #[inline]
    pub(crate) fn jump_target(
        index: u32,
        map: BranchMap,
        returns: Option<u32>,
        params: &Params,
        bits: u64,
        width: u32,
    ) -> Self {
        let (index, mask) = (u64::from(index), (1 << params.cache_size) - 1);
        let at = width + 2;
        let subformat = u64::from(params.f0s_width > 0) << at;
        let bits = bits | subformat | (index & mask) << (at + u32::from(params.f0s_width));
        let mut short = Self::branches(bits, at + indices(params), map);
        short.returns(returns, params);
        short
    }

    /// Creates a string of `bits` followed by branches, at most 64 bits together.
    #[inline]
    fn branches(bits: u64, width: u32, map: BranchMap) -> Self {
        let count = map.count();
        let bits = bits | (u64::from(count) | u64::from(map.bits()) << 5) << width;
        let width = width + 5 + map_width(count as u8);
        let whole = sign_extended(bits, width).into();
        Self { whole, width }
    }

    /// Appends a bit that differs from the one before it if `asserted`.
    #[inline]
    fn change(&mut self, asserted: bool) {
        if asserted {
            self.whole ^= -1 << self.width;
        }
        self.width += 1;
    }

    #[inline]
    fn field(&mut self, value: u64, width: u32) {
        if width > 0 {
            let below = (1 << self.width) - 1;
            self.whole = self.whole & below | i128::from(sign_extended(value, width)) << self.width;
            self.width += width;
        }
    }

    #[inline]
    fn address(&mut self, address: &Address, params: &Params) {
        self.field(address.value >> params.iaddress_lsb, params.address_bits());
        self.change(address.notify);
        self.change(address.updiscon);
        self.returns(address.returns, params);
    }

    #[inline]
    fn returns(&mut self, reported: Option<u32>, params: &Params) {
        self.change(reported.is_some());
        match reported {
            Some(value) => self.field(value.into(), params.returns_bits()),
            None if params.irdepth_ones => self.field(u64::MAX, params.returns_bits()),
            // The bits repeat the bit before them.
            None => self.width += params.returns_bits(),
        }
    }

    /// Returns the compressed string: its bytes and how many of them count, at least `least`.
    #[inline]
    pub(crate) fn bytes(self, least: usize) -> ([u8; 16], usize) {
        (self.whole.to_le_bytes(), self.len().max(least))
    }

    /// Returns the length in bytes of the compressed string.
    #[inline]
    pub(crate) fn len(self) -> usize {
        let repeated = (self.whole ^ self.whole >> 127).leading_zeros();
        // One more bit, for the sign.
        (129 - repeated).div_ceil(8) as usize
    }
}

/// Returns the width of subformat and index in a jump target packet.
#[inline]
fn indices(params: &Params) -> u32 {
    u32::from(params.f0s_width) + u32::from(params.cache_size)
}
