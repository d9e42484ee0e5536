//! Reads one packet.

use super::Kind;
use super::cycles;
use super::types::{Address, Atoms, Branch, ISync, ISyncReason, Packet, Timestamp};
use crate::ptm::Params;
use crate::shared::address::{self, AddressBytes, Encoding, NoAddress};
use crate::shared::exception::ExceptionBytes;
use crate::shared::timestamp::TimestampBytes;

/// What packets are compressed against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Last address.
    pub(super) address: u32,
    /// Number of its low bits that are known.
    pub(super) known: u8,
    /// Last instruction set: state, and whether it is the other one of its kind. `None` before the first.
    pub(super) isa: Option<(address::State, bool)>,
    /// Last timestamp.
    pub(super) timestamp: u64,
}

type Stop = tracewright_core::stream::Stop<Packet>;

/// The first `len` bytes, which `header` begins, are not a packet.
fn malformed(header: u8, len: usize) -> Stop {
    Stop::Bad(Packet::Malformed { kind: Kind::of(header) }, len)
}

/// The header has no meaning.
const RESERVED: Stop = Stop::Bad(Packet::Reserved, 1);

/// Most zeros of an A-Sync within a stream.
pub(super) const MOST_ZEROS: usize = 11;

/// Reads the packet at the start of `bytes`, which are not empty. Returns it and its length.
#[inline]
pub(super) fn read(bytes: &[u8], params: &Params, state: &mut State) -> Result<(Packet, usize), Stop> {
    let header = bytes[0];
    // Atoms and branches first: they are nearly all.
    if header & 0x81 == 0x80 {
        return atom(header, bytes, params);
    }
    if header & 1 == 1 {
        return branch(bytes, params, state);
    }
    if header == 8
        && let Some((sync, len)) = bytes.first_chunk().and_then(|bytes| i_sync_in(bytes, params, state))
    {
        return Ok((Packet::ISync(sync), len));
    }
    other(header, bytes, params, state)
}

#[inline]
fn atom(header: u8, bytes: &[u8], params: &Params) -> Result<(Packet, usize), Stop> {
    if params.cycle_accurate {
        let (cycles, len) = cycles::read(bytes, cycles::ATOM_BYTES).ok_or(Stop::More)?;
        return Ok((Packet::CycleAtom { taken: header & 2 == 0, cycles }, len));
    }
    atoms(header).map(|atoms| (Packet::Atoms(atoms), 1)).ok_or(RESERVED)
}

/// Returns the atoms of a header, if there are any.
pub(super) const fn atoms(header: u8) -> Option<Atoms> {
    // The highest bit below bit 7 stands before the atoms, oldest first, 0 is taken.
    let pattern = header & 0x7c;
    if pattern == 0 {
        return None;
    }
    let count = 6 - pattern.leading_zeros() as u8;
    let newest_first = !header >> 1 & ((1 << count) - 1);
    Some(Atoms { bits: newest_first.reverse_bits() >> (8 - count), count })
}

fn branch(bytes: &[u8], params: &Params, state: &mut State) -> Result<(Packet, usize), Stop> {
    let in_word = bytes
        .first_chunk()
        .and_then(|bytes| AddressBytes::in_long_word(u64::from_le_bytes(*bytes), Encoding::Alternative));
    let (told, mut len) = match in_word {
        Some(found) => found,
        None => AddressBytes::read(bytes, Encoding::Alternative).map_err(|error| match error {
            NoAddress::More => Stop::More,
            NoAddress::Bad(len) => malformed(bytes[0], len),
        })?,
    };
    let mut exception = None;
    if told.exception {
        let (found, more) = ExceptionBytes::read(&bytes[len..]).ok_or(Stop::More)?;
        if found.resume.is_some() {
            // Only M profile has it, and no PTM.
            return Err(malformed(bytes[0], len + more));
        }
        exception = Some(found);
        len += more;
    }
    let cycles = if params.cycle_accurate { Some(count(bytes, &mut len)?) } else { None };
    let alternative = exception.map(|exception| exception.alternative);
    let address = apply(&told, alternative, state);
    Ok((Packet::Branch(Branch { address, exception, cycles }), len))
}

/// Returns the address, and remembers it.
fn apply(told: &AddressBytes, alternative: Option<bool>, state: &mut State) -> Address {
    let before = state.isa;
    // Until the first instruction set bits are taken as they are.
    let assumed = before.map_or(address::State::Thumb, |(known, _)| known);
    let (value, found) = told.apply(state.address, assumed);
    let told_bits = told.told(found);
    state.known = state.known.max(told_bits);
    state.address = value;
    // Five bytes without exception bytes say that it is the usual one.
    let alternative = match (alternative, told.state) {
        (Some(alternative), _) => alternative,
        (None, Some(_)) => false,
        (None, None) => before.is_some_and(|(_, alternative)| alternative),
    };
    if told.state.is_some() || alternative || before.is_some() {
        state.isa = Some((found, alternative));
    }
    Address {
        value,
        state: found,
        alternative,
        width: told.width,
        known: state.known,
        changes_state: state.isa != before,
        information: false,
    }
}

fn count(bytes: &[u8], len: &mut usize) -> Result<u32, Stop> {
    let rest = bytes.get(*len..).unwrap_or_default();
    let (count, more) = cycles::read(rest, cycles::BYTES).ok_or(Stop::More)?;
    *len += more;
    Ok(count)
}

/// Reads a little-endian number of one to four bytes.
#[inline]
fn number(bytes: &[u8], len: &mut usize, count: u8) -> Result<u32, Stop> {
    if let (Some(four), 1..) = (bytes.get(*len..).and_then(<[u8]>::first_chunk), count) {
        *len += usize::from(count);
        return Ok(u32::from_le_bytes(*four) & u32::MAX >> (32 - 8 * u32::from(count)));
    }
    let end = *len + usize::from(count);
    let found = bytes.get(*len..end).ok_or(Stop::More)?;
    *len = end;
    Ok(found.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte)))
}

#[inline(never)]
fn other(header: u8, bytes: &[u8], params: &Params, state: &mut State) -> Result<(Packet, usize), Stop> {
    let mut len = 1;
    let packet = match Kind::of(header) {
        Kind::Async => return a_sync(bytes),
        Kind::ISync => {
            let address = number(bytes, &mut len, 4)?;
            let info = number(bytes, &mut len, 1)? as u8;
            let reason = ISyncReason::of(info >> 5);
            let has_cycles = params.cycle_accurate && reason != ISyncReason::Periodic;
            let cycles = if has_cycles { Some(count(bytes, &mut len)?) } else { None };
            let context_id = match params.context_id_bytes {
                0 => None,
                size => Some(number(bytes, &mut len, size)?),
            };
            Packet::ISync(i_sync(address, info, cycles, context_id, state))
        }
        Kind::Trigger => Packet::Trigger,
        Kind::Vmid => Packet::Vmid(number(bytes, &mut len, 1)? as u8),
        Kind::Timestamp => {
            let width = params.timestamp_width;
            let (told, more) = TimestampBytes::read(&bytes[1..], width).ok_or(Stop::More)?;
            len += more;
            let cycles = if params.cycle_accurate { Some(count(bytes, &mut len)?) } else { None };
            let value = told.apply(state.timestamp);
            state.timestamp = value;
            let clock_changed = header & 4 != 0;
            Packet::Timestamp(Timestamp { value, told: told.told, clock_changed, cycles })
        }
        Kind::Ignore => Packet::Ignore,
        Kind::ContextId => Packet::ContextId(number(bytes, &mut len, params.context_id_bytes)?),
        Kind::WaypointUpdate => {
            let (told, more) =
                AddressBytes::read(&bytes[1..], Encoding::Alternative).map_err(|error| match error {
                    NoAddress::More => Stop::More,
                    NoAddress::Bad(len) => malformed(header, len + 1),
                })?;
            len += more;
            let information = told.exception;
            let alternative =
                if information { Some(number(bytes, &mut len, 1)? as u8 & 0x40 != 0) } else { None };
            Packet::WaypointUpdate(Address { information, ..apply(&told, alternative, state) })
        }
        Kind::ExceptionReturn => Packet::ExceptionReturn,
        _ => return Err(RESERVED),
    };
    Ok((packet, len))
}

/// Returns an I-Sync, and remembers what it told.
#[inline(always)]
fn i_sync(address: u32, info: u8, cycles: Option<u32>, context_id: Option<u32>, state: &mut State) -> ISync {
    let sync = ISync {
        reason: ISyncReason::of(info >> 5),
        address: address & !1,
        thumb: address & 1 == 1,
        non_secure: info & 8 != 0,
        alternative: info & 4 != 0,
        hyp: info & 2 != 0,
        cycles,
        context_id,
    };
    (state.address, state.known) = (sync.address, 32);
    state.isa = Some((sync.state(), sync.alternative));
    sync
}

/// Reads the I-Sync at the start of these bytes as [`read`] does, and its length. Returns `None` for what is rare: a cycle count of more
/// than two bytes.
#[inline(always)]
fn i_sync_in(bytes: &[u8; 16], params: &Params, state: &mut State) -> Option<(ISync, usize)> {
    // Eight bytes from one of the first nine.
    let word = |from: usize| bytes[from..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
    let first = word(0);
    let info = (first >> 40) as u8;
    let (mut len, mut cycles) = (6, None);
    if params.cycle_accurate && ISyncReason::of(info >> 5) != ISyncReason::Periodic {
        let (count, more) = cycles::in_word((first >> 48) as u32)?;
        (cycles, len) = (Some(count), len + more);
    }
    let size = params.context_id_bytes;
    let context_id = (size > 0).then(|| word(len % 9) as u32 & u32::MAX >> (32 - 8 * u32::from(size)));
    Some((i_sync((first >> 8) as u32, info, cycles, context_id, state), len + usize::from(size)))
}

fn a_sync(bytes: &[u8]) -> Result<(Packet, usize), Stop> {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    match bytes.get(zeros) {
        _ if zeros > MOST_ZEROS => Err(malformed(0, MOST_ZEROS + 1)),
        None => Err(Stop::More),
        Some(0x80) if zeros >= 5 => Ok((Packet::Async, zeros + 1)),
        Some(_) => Err(malformed(0, zeros + 1)),
    }
}
