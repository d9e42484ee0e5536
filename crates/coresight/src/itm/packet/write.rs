//! Writes packets: the reverse of reading.

use super::{ASYNC, Packet};
use crate::itm::hardware::Hardware;

impl Packet {
    /// Appends the bytes. What only a parser reports (skipped, malformed and incomplete bytes) has none.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        match *self {
            Self::Async => bytes.extend(ASYNC),
            Self::Padding { zeros } => bytes.extend((0..zeros).map(|_| 0)),
            Self::Overflow => bytes.push(0x70),
            Self::Stimulus { port, size, value } => source(port << 3, size, value, bytes),
            Self::Hardware(Hardware { source, size, value }) => {
                self::source(source << 3 | 4, size, value, bytes);
            }
            Self::LocalTimestamp { value, bytes: 0, .. } => bytes.push((value as u8 & 7) << 4),
            Self::LocalTimestamp { value, delay, bytes: count } => {
                bytes.push(0xc0 | u8::from(delay.timestamp) << 4 | u8::from(delay.packet) << 5);
                self::bytes(value.into(), count, bytes);
            }
            Self::GlobalLow { value, clock_changed, wrapped, bytes: count } => {
                let flags = u64::from(clock_changed) << 26 | u64::from(wrapped) << 27;
                bytes.push(0x94);
                let flags = if count == 4 { flags } else { 0 };
                self::bytes(u64::from(value) | flags, count, bytes);
            }
            Self::GlobalHigh { value, bytes: count } => {
                bytes.push(0xb4);
                self::bytes(value, count, bytes);
            }
            Self::Extension { hardware, value, bytes: count } => {
                let low = (value as u8 & 7) << 4;
                bytes.push(8 | u8::from(hardware) << 2 | low | u8::from(count > 0) << 7);
                self::bytes((value >> 3).into(), count, bytes);
                if count == 4
                    && let Some(last) = bytes.last_mut()
                {
                    *last |= (value >> 24) as u8 & 0x80;
                }
            }
            Self::NotSync { .. }
            | Self::Reserved { .. }
            | Self::Malformed { .. }
            | Self::Incomplete { .. } => {}
        }
    }
}

/// Appends a packet with a value of `size` bytes.
fn source(header: u8, size: u8, value: u32, bytes: &mut Vec<u8>) {
    let code = match size {
        1 => 1,
        2 => 2,
        _ => 3,
    };
    bytes.push(header | code);
    bytes.extend(&value.to_le_bytes()[..1 << (code - 1)]);
}

/// Appends a value in `count` bytes.
fn bytes(value: u64, count: u8, bytes: &mut Vec<u8>) {
    for index in 0..count {
        let more = u8::from(index + 1 < count) << 7;
        bytes.push((value >> (7 * index)) as u8 & 0x7f | more);
    }
}
