//! Timer and software interrupt.

use std::ops::Range;

/// A CLINT for one hart.
#[derive(Clone, Debug)]
pub(super) struct Clint {
    time: u64,
    compare: u64,
    software: bool,
    timer: bool,
}

const SOFTWARE: u64 = 0x0200_0000;
const COMPARE: u64 = 0x0200_4000;
const TIME: u64 = 0x0200_bff8;

const MSIP: u64 = 1 << 3;
const MTIP: u64 = 1 << 7;

impl Clint {
    /// Address range.
    pub const RANGE: Range<u64> = 0x0200_0000..0x020c_0000;

    /// Creates a CLINT at time 0. The timer is also set to 0, so that it is pending.
    pub fn new() -> Self {
        Self { time: 0, compare: 0, software: false, timer: true }
    }

    /// Returns the time.
    pub fn time(&self) -> u64 {
        self.time
    }

    /// Advances the time.
    pub fn advance(&mut self, ticks: u64) {
        self.time = self.time.wrapping_add(ticks);
        self.timer = self.time >= self.compare;
    }

    /// Returns the pending interrupts as bits of mip.
    pub fn pending(&self) -> u64 {
        (u64::from(self.software) * MSIP) | (u64::from(self.timer) * MTIP)
    }

    /// Reads a register. Returns `None` for an invalid access.
    pub fn load(&self, address: u64, size: u8) -> Option<u64> {
        let (register, at) = match address {
            SOFTWARE..0x0200_0008 => (u64::from(self.software), address - SOFTWARE),
            COMPARE..0x0200_4008 => (self.compare, address - COMPARE),
            TIME..0x0200_c000 => (self.time, address - TIME),
            // Registers of other harts.
            _ if Self::RANGE.contains(&address) => (0, 0),
            _ => return None,
        };
        (at + u64::from(size) <= 8).then(|| register >> (8 * at) & mask(size))
    }

    /// Writes a register. Returns `None` for an invalid access.
    pub fn store(&mut self, address: u64, size: u8, value: u64) -> Option<()> {
        let (mut software, at) = (u64::from(self.software), address % 8);
        if at + u64::from(size) > 8 {
            return None;
        }
        let register = match address {
            SOFTWARE..0x0200_0008 => &mut software,
            COMPARE..0x0200_4008 => &mut self.compare,
            TIME..0x0200_c000 => &mut self.time,
            _ if Self::RANGE.contains(&address) => return Some(()),
            _ => return None,
        };
        *register = *register & !(mask(size) << (8 * at)) | (value & mask(size)) << (8 * at);
        self.software = software & 1 == 1;
        self.advance(0);
        Some(())
    }
}

fn mask(size: u8) -> u64 {
    u64::MAX >> (64 - 8 * u32::from(size.clamp(1, 8)))
}
