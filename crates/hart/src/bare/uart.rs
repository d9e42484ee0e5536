//! Serial port, as far as programs print with it.

use std::io::Write;
use std::ops::Range;

/// An NS16550.
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
    /// Address range.
    pub const RANGE: Range<u64> = 0x1000_0000..0x1000_0100;

    /// Reads a register.
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
