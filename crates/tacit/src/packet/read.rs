//! Bytes to packets.

use super::types::{Packet, SyncKind, TrapKind};
use super::{FULL, MOST_NUMBER, Malformed, PRIVILEGES, Unread, number};
use crate::{Form, Mode, Params};

/// Reads the packet that bytes begin with. Returns its length too.
///
/// # Errors
/// Fails if there is no such packet, or if it goes on after the bytes.
pub fn read(bytes: &[u8], params: &Params) -> Result<(Packet, usize), Unread> {
    let Some(&first) = bytes.first() else { return Err(Unread::More) };
    if let Some(packet) = read_short(first, params.mode) {
        return Ok((packet, 1));
    }
    let mut fields = Fields { bytes, at: 1 };
    let packet = full(first, &mut fields, params)?;
    Ok((packet, fields.at))
}

/// Returns the packet that is this byte, if no other follows it.
#[inline(always)]
pub fn read_short(byte: u8, mode: Mode) -> Option<Packet> {
    let value = u64::from(byte >> 2);
    if byte & 0b11 == FULL {
        return None;
    }
    Some(of_number(byte & 0b11, mode, value))
}

/// Returns the packet with one value.
#[inline(always)]
fn of_number(number: u8, mode: Mode, value: u64) -> Packet {
    match (number, mode) {
        (number::TAKEN, Mode::Target) => Packet::TakenBranch { time: value },
        (number::NOT_TAKEN, Mode::Target) => Packet::NotTakenBranch { time: value },
        (number::TAKEN, Mode::Predict) => Packet::Hits { count: value },
        (number::NOT_TAKEN, Mode::Predict) => Packet::Miss { time: value },
        _ => Packet::InferableJump { time: value },
    }
}

/// Reads a packet with fields.
fn full(first: u8, fields: &mut Fields<'_>, params: &Params) -> Result<Packet, Unread> {
    let wrong = |why| Err(Unread::Malformed(why, 1));
    let (number, kind) = (first >> 2 & 7, first >> 5);
    let is_tagged = params.form != Form::Plain;
    match number {
        number::TRAP => {
            let Some(kind) = TrapKind::of(kind) else { return wrong(Malformed::Kind("event")) };
            let privilege = if is_tagged { Some(fields.privileges()?) } else { None };
            let to_user = kind == TrapKind::Return && matches!(privilege, Some([_, 0]));
            let asid = if to_user { Some(fields.asid(params)?) } else { None };
            let from = fields.address("from", params)?;
            let difference = fields.address("target", params)?;
            let time = fields.number("time")?;
            Ok(Packet::Trap { kind, privilege, asid, from, difference, time })
        }
        number::SYNC => {
            let Some(kind) = SyncKind::of(kind) else { return wrong(Malformed::Kind("event")) };
            let (mut privilege, mut asid, mut configuration) = (None, None, None);
            if is_tagged {
                let [0, now] = fields.privileges()? else {
                    return fields.wrong(Malformed::Kind("privilege"));
                };
                (privilege, asid) = (Some(now), Some(fields.asid(params)?));
            }
            if kind.has_configuration(params.form) {
                configuration = Some(fields.byte()?);
            }
            let target = fields.address("target", params)?;
            let time = fields.number("time")?;
            Ok(Packet::Sync { kind, privilege, asid, configuration, target, time })
        }
        6 | 7 => wrong(Malformed::Reserved),
        _ if kind != 0 => wrong(Malformed::Kind("event")),
        number::UNINFERABLE => {
            let difference = fields.address("target", params)?;
            Ok(Packet::UninferableJump { difference, time: fields.number("time")? })
        }
        number::TAKEN if params.mode == Mode::Predict => {
            Ok(of_number(number, params.mode, fields.number("count")?))
        }
        _ => Ok(of_number(number, params.mode, fields.number("time")?)),
    }
}

/// Fields of a packet.
struct Fields<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Fields<'_> {
    fn byte(&mut self) -> Result<u8, Unread> {
        let byte = *self.bytes.get(self.at).ok_or(Unread::More)?;
        self.at += 1;
        Ok(byte)
    }

    /// Returns that the bytes so far are wrong.
    fn wrong<T>(&self, why: Malformed) -> Result<T, Unread> {
        Err(Unread::Malformed(why, self.at))
    }

    fn privileges(&mut self) -> Result<[u8; 2], Unread> {
        let byte = self.byte()?;
        let (from, to) = (byte & 7, byte >> 3 & 7);
        if byte >> 6 != PRIVILEGES || from > 3 || to > 3 {
            return self.wrong(Malformed::Kind("privilege"));
        }
        Ok([from, to])
    }

    fn number(&mut self, field: &'static str) -> Result<u64, Unread> {
        let mut value = 0;
        for index in 0..MOST_NUMBER {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            let shift = 7 * index as u32;
            if bits << shift >> shift != bits {
                return self.wrong(Malformed::Wide(field));
            }
            value |= bits << shift;
            if byte & 0x80 != 0 {
                return Ok(value);
            }
        }
        self.wrong(Malformed::Endless(field))
    }

    fn asid(&mut self, params: &Params) -> Result<u64, Unread> {
        let asid = self.number("asid")?;
        if asid >> params.asid_bits != 0 { self.wrong(Malformed::Wide("asid")) } else { Ok(asid) }
    }

    /// Reads an address, or the difference of two. Bits above the width may be copies of the highest one.
    fn address(&mut self, field: &'static str, params: &Params) -> Result<u64, Unread> {
        let half = self.number(field)?;
        let above = half.checked_shr(u32::from(params.address_bits) - 1).unwrap_or(0);
        let ones = (u64::MAX >> 1).checked_shr(u32::from(params.address_bits) - 1).unwrap_or(0);
        if half >> 63 != 0 || above != 0 && above != ones {
            return self.wrong(Malformed::Wide(field));
        }
        Ok(half << 1)
    }
}
