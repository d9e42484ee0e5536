//! Interrupt controller without any sources. Programs read back what they write.

use std::collections::HashMap;
use std::ops::Range;

/// A PLIC for one hart.
#[derive(Clone, Debug, Default)]
pub(super) struct Plic {
    /// Registers that were written, by offset.
    registers: HashMap<u64, u32>,
}

/// Maximum number of registers kept; programs write few.
const MOST: usize = 4096;
/// Claim register of the first context.
const CLAIM: u64 = 0x20_0004;

impl Plic {
    /// Address range.
    pub const RANGE: Range<u64> = 0x0c00_0000..0x0d00_0000;

    /// Reads a register. Returns `None` for an invalid access.
    pub fn load(&self, address: u64, size: u8) -> Option<u64> {
        let offset = address - Self::RANGE.start;
        let word = |at: u64| if is_claim(at) { 0 } else { self.registers.get(&at).copied().unwrap_or(0) };
        match size {
            4 if offset.is_multiple_of(4) => Some(word(offset).into()),
            8 if offset.is_multiple_of(8) => {
                Some(u64::from(word(offset + 4)) << 32 | u64::from(word(offset)))
            }
            _ => None,
        }
    }

    /// Writes a register. Returns `None` for an invalid access.
    pub fn store(&mut self, address: u64, size: u8, value: u64) -> Option<()> {
        let offset = address - Self::RANGE.start;
        match size {
            4 | 8 if offset.is_multiple_of(size.into()) => {}
            _ => return None,
        }
        for (i, word) in
            [value as u32, (value >> 32) as u32].into_iter().take(usize::from(size / 4)).enumerate()
        {
            let at = offset + 4 * i as u64;
            if self.registers.len() < MOST || self.registers.contains_key(&at) {
                self.registers.insert(at, word);
            }
        }
        Some(())
    }
}

/// Returns whether a read there claims an interrupt, of which there is none.
fn is_claim(offset: u64) -> bool {
    offset >= CLAIM && offset % 0x1000 == CLAIM % 0x1000
}
