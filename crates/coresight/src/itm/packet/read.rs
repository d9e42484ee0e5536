//! Reads one packet.

use tracewright_core::Delay;

use super::types::Packet;
use super::{Kind, Resync};
use crate::itm::hardware::Hardware;

/// Why there is no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// There are too few bytes.
    More,
    /// The header has no meaning.
    Reserved,
    /// The first of these many bytes are not a packet.
    Malformed(usize),
}

/// Reads the packet at the start of `bytes`, which are not empty. Returns it and its length. Zeros are left to [`zeros`].
#[inline(always)]
pub(super) fn read(bytes: &[u8], resync: Resync) -> Result<(Packet, usize), Stop> {
    let header = bytes[0];
    // Packets of software and of the DWT first: they are nearly all.
    let code = header & 3;
    if code == 0 {
        return other(header, bytes, resync);
    }
    let size = 1 << (code - 1);
    let value = match bytes.first_chunk::<5>() {
        // The value and what follows, without a branch on the size.
        Some(&[_, a, b, c, d]) => u32::from_le_bytes([a, b, c, d]) & u32::MAX >> (32 - 8 * u32::from(size)),
        None => {
            let found = bytes.get(1..1 + usize::from(size)).ok_or(Stop::More)?;
            found.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
        }
    };
    let source = header >> 3;
    let packet = if header & 4 == 0 {
        Packet::Stimulus { port: source, size, value }
    } else {
        Packet::Hardware(Hardware { source, size, value })
    };
    Ok((packet, 1 + usize::from(size)))
}

/// Bytes after a header, seven bits in each; bit 7 says that another follows.
struct Bytes {
    value: u64,
    count: u8,
    /// The last byte.
    last: u8,
}

/// Reads at most `most` bytes after a header. The last that can be is not looked at for whether another follows.
fn more(bytes: &[u8], most: u8) -> Result<Bytes, Stop> {
    let mut found = Bytes { value: 0, count: 0, last: 0x80 };
    while found.last & 0x80 != 0 && found.count < most {
        found.last = *bytes.get(1 + usize::from(found.count)).ok_or(Stop::More)?;
        found.value |= u64::from(found.last & 0x7f) << (7 * found.count);
        found.count += 1;
    }
    Ok(found)
}

/// Fails if another byte should follow the last that can be.
const fn ended(found: &Bytes) -> Result<(), Stop> {
    if found.last & 0x80 == 0 { Ok(()) } else { Err(Stop::Malformed(1 + found.count as usize)) }
}

fn other(header: u8, bytes: &[u8], resync: Resync) -> Result<(Packet, usize), Stop> {
    let (packet, count) = match Kind::of(header) {
        Kind::Overflow => (Packet::Overflow, 0),
        Kind::LocalTimestamp if header & 0x80 == 0 => {
            let delay = Delay { timestamp: false, packet: false };
            (Packet::LocalTimestamp { value: (header >> 4).into(), delay, bytes: 0 }, 0)
        }
        Kind::LocalTimestamp => local_timestamp(header, bytes)?,
        // OpenCSD takes bit 7 alone for a local timestamp.
        Kind::Reserved if resync == Resync::OpenCsd && header & 0x8f == 0x80 => {
            local_timestamp(header, bytes)?
        }
        Kind::GlobalLow => {
            let found = more(bytes, 4)?;
            ended(&found)?;
            let flags = if found.count == 4 { found.last >> 5 & 3 } else { 0 };
            let packet = Packet::GlobalLow {
                value: found.value as u32 & 0x3ff_ffff,
                clock_changed: flags & 1 != 0,
                wrapped: flags & 2 != 0,
                bytes: found.count,
            };
            (packet, found.count)
        }
        Kind::GlobalHigh => {
            let found = more(bytes, 6)?;
            ended(&found)?;
            (Packet::GlobalHigh { value: found.value, bytes: found.count }, found.count)
        }
        Kind::Extension => {
            let mut found = Bytes { value: 0, count: 0, last: 0 };
            if header & 0x80 != 0 {
                found = more(bytes, 4)?;
                if resync == Resync::OpenCsd {
                    ended(&found)?;
                } else if found.count == 4 {
                    // The last byte that can be has eight bits.
                    found.value |= u64::from(found.last & 0x80) << 21;
                }
            }
            let value = (found.value as u32) << 3 | u32::from(header >> 4 & 7);
            (Packet::Extension { hardware: header & 4 != 0, value, bytes: found.count }, found.count)
        }
        _ => return Err(Stop::Reserved),
    };
    Ok((packet, 1 + usize::from(count)))
}

fn local_timestamp(header: u8, bytes: &[u8]) -> Result<(Packet, u8), Stop> {
    let found = more(bytes, 4)?;
    ended(&found)?;
    let delay = Delay { timestamp: header & 0x10 != 0, packet: header & 0x20 != 0 };
    Ok((Packet::LocalTimestamp { value: found.value as u32, delay, bytes: found.count }, found.count))
}
