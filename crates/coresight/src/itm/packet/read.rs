//! Reads one packet.

use tracewright_core::Delay;
use tracewright_core::stream::Stop;

use super::{Kind, MAX_PACKET, Packet};
use crate::itm::hardware::Hardware;
use crate::shared::ZEROS;

/// What packets are read with, besides their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// First stimulus port of the current page.
    pub(super) page: u8,
}

/// Reads the packet at the start of `bytes`, which are not empty. Returns it and its length. OpenCSD's way is the `strict` one.
#[inline(always)]
pub(super) fn read(bytes: &[u8], strict: bool, state: &mut State) -> Result<(Packet, usize), Stop<Packet>> {
    let header = bytes[0];
    // Packets of software and of the DWT first: they are nearly all.
    let code = header & 3;
    if code == 0 {
        return other(header, bytes, strict, state);
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
        Packet::Stimulus { port: state.page | source, size, value }
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
fn more(bytes: &[u8], most: u8) -> Result<Bytes, Stop<Packet>> {
    let mut found = Bytes { value: 0, count: 0, last: 0x80 };
    while found.last & 0x80 != 0 && found.count < most {
        found.last = *bytes.get(1 + usize::from(found.count)).ok_or(Stop::More)?;
        found.value |= u64::from(found.last & 0x7f) << (7 * found.count);
        found.count += 1;
    }
    Ok(found)
}

/// Fails if another byte should follow the last that can be.
fn ended(found: &Bytes, kind: Kind) -> Result<(), Stop<Packet>> {
    if found.last & 0x80 == 0 {
        return Ok(());
    }
    Err(Stop::Bad(Packet::Malformed { kind }, 1 + usize::from(found.count)))
}

#[inline(never)]
fn other(header: u8, bytes: &[u8], strict: bool, state: &mut State) -> Result<(Packet, usize), Stop<Packet>> {
    let kind = Kind::of(header);
    let (packet, count) = match kind {
        Kind::Async => return zeros(bytes, strict),
        Kind::Overflow => (Packet::Overflow, 0),
        Kind::LocalTimestamp if header & 0x80 == 0 => {
            let delay = Delay { timestamp: false, packet: false };
            (Packet::LocalTimestamp { value: (header >> 4).into(), delay, bytes: 0 }, 0)
        }
        Kind::LocalTimestamp => local_timestamp(header, bytes)?,
        // OpenCSD takes bit 7 alone for a local timestamp.
        Kind::Reserved if strict && header & 0x8f == 0x80 => local_timestamp(header, bytes)?,
        Kind::GlobalLow => {
            let found = more(bytes, 4)?;
            ended(&found, kind)?;
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
            ended(&found, kind)?;
            (Packet::GlobalHigh { value: found.value, bytes: found.count }, found.count)
        }
        Kind::Extension => {
            let mut found = Bytes { value: 0, count: 0, last: 0 };
            if header & 0x80 != 0 {
                found = more(bytes, 4)?;
                if strict {
                    ended(&found, kind)?;
                } else if found.count == 4 {
                    // The last byte that can be has eight bits.
                    found.value |= u64::from(found.last & 0x80) << 21;
                }
            }
            let value = (found.value as u32) << 3 | u32::from(header >> 4 & 7);
            let packet = Packet::Extension { hardware: header & 4 != 0, value, bytes: found.count };
            state.page = packet.page().map_or(state.page, |page| page << 5);
            (packet, found.count)
        }
        _ => return Err(Stop::Bad(Packet::Reserved { header }, 1)),
    };
    Ok((packet, 1 + usize::from(count)))
}

fn local_timestamp(header: u8, bytes: &[u8]) -> Result<(Packet, u8), Stop<Packet>> {
    let found = more(bytes, 4)?;
    ended(&found, Kind::LocalTimestamp)?;
    let delay = Delay { timestamp: header & 0x10 != 0, packet: header & 0x20 != 0 };
    Ok((Packet::LocalTimestamp { value: found.value as u32, delay, bytes: found.count }, found.count))
}

/// Reads a synchronisation packet. Zeros before its own are padding; for OpenCSD they are a part of it.
fn zeros(bytes: &[u8], strict: bool) -> Result<(Packet, usize), Stop<Packet>> {
    let most = if strict { MAX_PACKET - 1 } else { ZEROS };
    let found = bytes.iter().take(most + 1).take_while(|&&byte| byte == 0).count();
    match bytes.get(found) {
        _ if found > most => Ok((Packet::Padding { zeros: 1 }, 1)),
        None => Err(Stop::More),
        Some(0x80) if found >= ZEROS => Ok((Packet::Async, found + 1)),
        Some(_) => Err(Stop::Bad(Packet::Malformed { kind: Kind::Async }, found + 1)),
    }
}
