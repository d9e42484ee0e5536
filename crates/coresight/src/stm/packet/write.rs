//! Writes packets: the reverse of reading.

use super::nibbles::Nibbles;
use super::timestamp::{Encoding, Timestamp};
use super::types::Packet;

impl Packet {
    /// Appends the nibbles. Timestamps are in this encoding. What only a parser reports (skipped, malformed and incomplete nibbles) has
    /// none.
    pub fn write(&self, encoding: Encoding, out: &mut Nibbles) {
        let kind = self.kind();
        let (header, len) = kind.header();
        out.number(header.into(), len);
        match *self {
            Self::Async { ones } => {
                (2..ones).for_each(|_| out.push(0xf));
                out.push(0);
            }
            Self::Version(encoding) => out.push(encoding.version()),
            Self::User { nibbles, value, .. } => {
                let nibbles = nibbles.clamp(1, 16);
                out.push(nibbles - 1);
                out.number(value, nibbles);
            }
            Self::Master { number, .. } | Self::Channel { number, .. } => {
                out.number(number.into(), kind.payload());
            }
            Self::Data { value, .. } => out.number(value, kind.payload()),
            Self::Trigger { value, .. } | Self::CrossSync { value, .. } => {
                out.number(value.into(), kind.payload());
            }
            Self::MasterError(code) | Self::GlobalError(code) => out.number(code.into(), kind.payload()),
            Self::Frequency { hertz, .. } => out.number(hertz.into(), kind.payload()),
            Self::Null { .. } | Self::Flag { .. } => {}
            Self::NotSync { .. }
            | Self::Reserved { .. }
            | Self::Malformed { .. }
            | Self::Incomplete { .. } => {}
        }
        if let Some(timestamp) = self.timestamp() {
            timestamp.write(encoding, out);
        }
    }
}

impl Timestamp {
    fn write(&self, encoding: Encoding, out: &mut Nibbles) {
        let length = self.length();
        out.push(length);
        out.number(encoding.bits(self.value), Self::nibbles(length).unwrap_or(0));
    }
}
