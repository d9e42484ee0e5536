//! A serial port, as far as programs print with it.

use std::io::Write;
use std::ops::Range;

/// An NS16550.
#[derive(Clone, Debug, Default)]
pub(super) struct Uart {
    line_control: u8,
}

const LINE_CONTROL: u64 = 3;
const LINE_STATUS: u64 = 5;
/// Of the line control: the first two registers are the divisor of the rate.
const DIVISOR: u8 = 0x80;
/// Of the line status: ready to send, and done with it.
const EMPTY: u64 = 0x60;

impl Uart {
    /// Where it is.
    pub const RANGE: Range<u64> = 0x1000_0000..0x1000_0100;

    /// Reads a register.
    pub fn load(&self, address: u64) -> u64 {
        match address - Self::RANGE.start {
            LINE_CONTROL => self.line_control.into(),
            LINE_STATUS => EMPTY,
            _ => 0,
        }
    }

    /// Writes a register; what is sent is printed.
    pub fn store(&mut self, address: u64, value: u64, out: &mut dyn Write) {
        match address - Self::RANGE.start {
            0 if self.line_control & DIVISOR == 0 => drop(out.write_all(&[value as u8])),
            LINE_CONTROL => self.line_control = value as u8,
            _ => {}
        }
    }
}
