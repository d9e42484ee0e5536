//! Packets as text: what `tracewright packets` prints beside the bytes.

use core::fmt;

use super::types::Packet;

/// The content of a packet as text, without its name.
#[derive(Clone, Copy, Debug)]
pub struct Details<'a>(&'a Packet);

impl Packet {
    /// Returns the content of the packet as text. It is empty if the name says it all.
    pub const fn details(&self) -> Details<'_> {
        Details(self)
    }
}

impl fmt::Display for Details<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = ", ";
        match *self.0 {
            Packet::Version(encoding) => write!(f, "{}, timestamps {encoding}", encoding.version())?,
            Packet::Master { number, .. } | Packet::Channel { number, .. } => write!(f, "{number}")?,
            Packet::Data { size, value, .. } => {
                write!(f, "{value:#0width$x}", width = 2 + usize::from(size.nibbles()))?;
            }
            Packet::User { nibbles, value, .. } => {
                write!(f, "{value:#0width$x}", width = 2 + usize::from(nibbles))?;
            }
            Packet::Trigger { value, .. }
            | Packet::CrossSync { value, .. }
            | Packet::MasterError(value)
            | Packet::GlobalError(value) => write!(f, "{value:#04x}")?,
            Packet::Frequency { hertz, .. } => write!(f, "{hertz} Hz")?,
            Packet::Async { ones } if ones > super::ONES => write!(f, "{ones} ones")?,
            Packet::NotSync { nibbles: 1 } => f.write_str("1 nibble skipped")?,
            Packet::NotSync { nibbles } => write!(f, "{nibbles} nibbles skipped")?,
            Packet::Reserved { header } => write!(f, "{header:#x} is not defined")?,
            Packet::Malformed { kind } => write!(f, "{} with nibbles that cannot follow it", kind.name())?,
            Packet::Incomplete { kind: Some(kind) } => write!(f, "trace ends inside {}", kind.name())?,
            Packet::Incomplete { kind: None } => f.write_str("trace ends inside a header")?,
            Packet::Async { .. } | Packet::Null { .. } | Packet::Flag { .. } => separator = "",
        }
        match self.0.timestamp() {
            Some(timestamp) => write!(f, "{separator}timestamp {:#x}", timestamp.value),
            None => Ok(()),
        }
    }
}
