//! Fast path for the most frequent packets: short ones of formats 0 to 2 with no flag asserted.

use super::read::map_width;
use super::{Address, BranchCount, BranchMap, Packet};
use crate::{Options, Params};

/// Widths and flags that the fast path needs, taken from [`Params`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hot {
    address_bits: u32,
    iaddress_lsb: u32,
    /// Bits after an address: flags and the fields that depend on them.
    after: u32,
    f0s_width: u32,
    cache_size: u32,
    has_predictor: bool,
}

impl Hot {
    /// Creates a fast path, or returns `None` if these parameters have none.
    pub(crate) fn new(params: &Params) -> Option<Self> {
        (!params.address_bytes).then(|| Self {
            address_bits: params.address_bits(),
            iaddress_lsb: params.iaddress_lsb.into(),
            after: 3 + params.returns_bits(),
            f0s_width: params.f0s_width.into(),
            cache_size: params.cache_size.into(),
            has_predictor: params.bpred_size > 0,
        })
    }

    /// Parses a payload of `bits` bits (at most 64) in the low end of `word`; the bits above repeat the last
    /// one. Returns `None` if the general parser has to read it.
    #[inline(always)]
    pub(crate) fn read(self, word: u64, bits: u32, options: &Options) -> Option<Packet> {
        // Comparisons instead of a jump table, whose jumps the processor predicts badly.
        if word & 3 == 1 {
            let branches = (word >> 2 & 31) as u8;
            if branches == 0 {
                let map = BranchMap::new((word >> 7) as u32 & (u32::MAX >> 1), 31);
                return (bits <= 40).then_some(Packet::Branches(map, None));
            }
            let address = self.address(word, bits, 7 + map_width(branches), options)?;
            return Some(Packet::Branches(BranchMap::new((word >> 7) as u32, branches), Some(address)));
        }
        if word & 3 == 2 {
            return Some(Packet::Address(self.address(word, bits, 2, options)?));
        }
        if word & 3 == 0 { self.format_0(word, bits, options) } else { None }
    }

    #[inline(always)]
    fn address(self, word: u64, bits: u32, at: u32, options: &Options) -> Option<Address> {
        let end = at + self.address_bits;
        unflagged(word, bits, end, self.after)?;
        let mut value = (word as i64 >> at) as u64;
        if options.full_address {
            value &= u64::MAX >> (64 - self.address_bits);
        }
        Some(Address { value: value << self.iaddress_lsb, ..Address::default() })
    }

    #[inline]
    fn format_0(self, word: u64, bits: u32, options: &Options) -> Option<Packet> {
        let count = options.branch_prediction && self.has_predictor;
        let index = options.jump_target_cache && self.cache_size > 0;
        let subformat = match self.f0s_width {
            0 => u64::from(index),
            width => word >> 2 & ((1 << width) - 1),
        };
        let at = 2 + self.f0s_width;
        match subformat {
            0 if count => {
                let count = 31 + (word >> at & u64::from(u32::MAX));
                let at = at + 34;
                let (failed, address) = match word >> (at - 2) & 3 {
                    0 if bits <= at.next_multiple_of(8) => (true, None),
                    2 => (false, Some(self.address(word, bits, at, options)?)),
                    3 => (true, Some(self.address(word, bits, at, options)?)),
                    _ => return None,
                };
                Some(Packet::BranchCount(BranchCount { count, failed, address }))
            }
            1 if index => {
                let index = (word >> at) as u32 & ((1 << self.cache_size) - 1);
                let at = at + self.cache_size;
                let branches = (word >> at & 31) as u8;
                let map = BranchMap::new((word >> (at + 5)) as u32, branches);
                // The flag follows the map or the number of branches.
                unflagged(word, bits, at + 5 + map_width(branches), self.after - 2)?;
                Some(Packet::JumpTarget { index, branches: map, returns: None })
            }
            _ => None,
        }
    }
}

/// Returns `None` if a flag is asserted in the `after` bits from `end` on, or if more bits follow. All of
/// them must repeat the bit before `end`.
#[inline(always)]
fn unflagged(word: u64, bits: u32, end: u32, after: u32) -> Option<()> {
    // Bits that were not sent cannot differ.
    if bits <= end {
        return Some(());
    }
    let rest = word as i64 >> (end - 1);
    ((rest == 0 || rest == -1) && bits <= (end + after).next_multiple_of(8)).then_some(())
}
