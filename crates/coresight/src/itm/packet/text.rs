//! Packets as text: what `tracewright packets` prints beside the bytes.

use core::fmt;

use super::Packet;
use crate::itm::hardware::Hardware;

/// The content of a packet as text, without its name.
#[derive(Clone, Copy, Debug)]
pub struct Details<'a> {
    packet: &'a Packet,
}

impl Packet {
    /// Returns the content of the packet as text. It is empty if the name says it all. What packets of the DWT mean is left to
    /// [`Hardware::message`].
    pub const fn details(&self) -> Details<'_> {
        Details { packet: self }
    }
}

impl fmt::Display for Details<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self.packet {
            Packet::Stimulus { port, size, value } => {
                let width = 2 + 2 * usize::from(size);
                write!(f, "port {port}, value {value:#0width$x}")
            }
            Packet::Hardware(Hardware { source, size, value }) => {
                write!(f, "source {source}, value {value:#0width$x}", width = 2 + 2 * usize::from(size))
            }
            Packet::LocalTimestamp { value, delay, .. } => {
                write!(f, "{value}")?;
                f.write_str(if delay.timestamp { ", timestamp delayed" } else { "" })?;
                f.write_str(if delay.packet { ", packet delayed" } else { "" })
            }
            Packet::GlobalLow { value, clock_changed, wrapped, bytes } => {
                let bits = if bytes == 4 { 26 } else { 7 * bytes };
                write!(f, "low {bits} bits {value:#x}")?;
                f.write_str(if clock_changed { ", clock changed" } else { "" })?;
                f.write_str(if wrapped { ", upper bits changed" } else { "" })
            }
            Packet::GlobalHigh { value, .. } => write!(f, "upper bits {value:#x}"),
            Packet::Extension { hardware, value, .. } => match self.packet.page() {
                Some(page) => write!(f, "page {page}"),
                None => write!(f, "{} {value:#x}", if hardware { "hardware" } else { "software" }),
            },
            Packet::NotSync { len: 1 } => f.write_str("1 byte skipped"),
            Packet::NotSync { len } => write!(f, "{len} bytes skipped"),
            Packet::Reserved { header } => write!(f, "header {header:#04x} is not defined"),
            Packet::Malformed { kind } => write!(f, "{} with bytes that cannot follow it", kind.name()),
            Packet::Incomplete { kind } => write!(f, "trace ends inside {}", kind.name()),
            Packet::Async | Packet::Padding { .. } | Packet::Overflow => Ok(()),
        }
    }
}
