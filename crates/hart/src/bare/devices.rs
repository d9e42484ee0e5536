//! Devices: a timer with a software interrupt, an interrupt controller, and a serial port.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;

/// A CLINT for one hart.
#[derive(Clone, Debug)]
pub(super) struct Clint {
    pub time: u64,
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
    pub const RANGE: Range<u64> = 0x0200_0000..0x020c_0000;

    /// Creates a CLINT at time 0. The timer is also set to 0, so that it is pending.
    pub fn new() -> Self {
        Self { time: 0, compare: 0, software: false, timer: true }
    }

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

/// A PLIC for one hart, without any sources. Programs read back what they write.
#[derive(Clone, Debug, Default)]
pub(super) struct Plic {
    /// Registers that were written, by offset.
    registers: HashMap<u64, u32>,
}

/// Maximum number of registers kept; programs write few.
const MOST_REGISTERS: usize = 4096;
/// Claim register of the first context.
const CLAIM: u64 = 0x20_0004;

impl Plic {
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
            if self.registers.len() < MOST_REGISTERS || self.registers.contains_key(&at) {
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

/// An NS16550, as far as programs print with it.
#[derive(Clone, Debug, Default)]
pub(super) struct Uart {
    line_control: u8,
}

const LINE_CONTROL: u64 = 3;
const LINE_STATUS: u64 = 5;
/// Line control bit: the first two registers are the baud rate divisor.
const DIVISOR: u8 = 0x80;
/// Line status: ready to send, and all sent.
const EMPTY: u64 = 0x60;

impl Uart {
    pub const RANGE: Range<u64> = 0x1000_0000..0x1000_0100;

    pub fn load(&self, address: u64) -> u64 {
        match address - Self::RANGE.start {
            LINE_CONTROL => self.line_control.into(),
            LINE_STATUS => EMPTY,
            _ => 0,
        }
    }

    /// Writes a register. Prints what is sent.
    pub fn store(&mut self, address: u64, value: u64, out: &mut dyn Write) {
        match address - Self::RANGE.start {
            0 if self.line_control & DIVISOR == 0 => drop(out.write_all(&[value as u8])),
            LINE_CONTROL => self.line_control = value as u8,
            _ => {}
        }
    }
}
