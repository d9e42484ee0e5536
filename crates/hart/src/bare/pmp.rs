//! Physical memory protection.

use crate::Privilege;
use crate::memory::Rights;

/// Registers of physical memory protection.
#[derive(Clone, Debug, Default)]
pub(super) struct Pmp {
    pub config: [u8; 16],
    pub address: [u64; 16],
    pub regions: u8,
}

const LOCKED: u8 = 0x80;

impl Pmp {
    /// Returns whether `size` bytes at `address` may be accessed.
    pub fn allows(&self, address: u64, size: u64, rights: Rights, privilege: Privilege) -> bool {
        let last = address.wrapping_add(size - 1);
        for region in 0..usize::from(self.regions) {
            let Some((start, end)) = self.bounds(region) else { continue };
            if last < start || address > end {
                continue;
            }
            // The first region with any of the bytes decides; it must contain all of them.
            if address < start || last > end {
                return false;
            }
            let config = self.config[region];
            let free = privilege == Privilege::Machine && config & LOCKED == 0;
            return free || Rights(config & 7).has(rights);
        }
        privilege == Privilege::Machine || self.regions == 0
    }

    /// Returns the first and last byte of a region; `None` if it is off.
    fn bounds(&self, region: usize) -> Option<(u64, u64)> {
        let address = self.address[region];
        match self.config[region] >> 3 & 3 {
            0 => None,
            1 => {
                let start = if region == 0 { 0 } else { self.address[region - 1] << 2 };
                (start < address << 2).then(|| (start, (address << 2) - 1))
            }
            2 => Some((address << 2, (address << 2) + 3)),
            _ => {
                let ones = address.trailing_ones().min(60);
                let size = 8u64 << ones;
                let start = (address & !((1 << ones) - 1)) << 2;
                Some((start, start.wrapping_add(size - 1)))
            }
        }
    }

    /// Writes the configuration of one region, unless it is locked.
    pub fn set_config(&mut self, region: usize, value: u8) {
        if region < self.regions.into() && self.config[region] & LOCKED == 0 {
            // Write without read is reserved.
            let value = if value & 3 == 2 { value & !2 } else { value };
            self.config[region] = value & 0x9f;
        }
    }

    /// Writes the address of one region, unless it or the one that begins there is locked.
    pub fn set_address(&mut self, region: usize, value: u64) {
        let next_is_locked = self.config.get(region + 1).is_some_and(|next| next & 0x98 == LOCKED | 8);
        if region < self.regions.into() && self.config[region] & LOCKED == 0 && !next_is_locked {
            self.address[region] = value & ((1 << 54) - 1);
        }
    }
}
