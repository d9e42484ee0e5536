//! The decoder as a pure function of one byte: D(b, S, T) -> S', T'.
//!
//! A hardware decoder reaches a fixed rate in this way. The *stream state* S (the current header, and the payload
//! bytes left) and the *trace state* T (compression registers, and the fields of the current packet) are updated
//! after every byte, whatever the packet boundaries are. So any number of copies of D can be chained ([`unrolled`])
//! to process that many bytes per step.
//!
//! [`Parser`](super::Parser) is faster in software. This module is a reference for hardware, and the naive twin
//! against which the parser is tested. It shares the header map, the atom patterns and the compression registers with
//! the parser, but not the reading of bytes.
//!
//! After bytes that are not a packet it searches for the next A-Sync, as the parser does by default.

mod build;
mod layout;

use self::build::packet;
use self::layout::{Next, is_of, next_field};
use super::{InstructionSet, Kind, Packet, TraceState, header};
use crate::Params;

/// S: the position of the next byte in a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamState {
    mode: Mode,
    header: u8,
    kind: Kind,
    /// Field of the next payload byte, and the index of the byte in it.
    field: Field,
    index: u8,
    /// Number of zero bytes just seen, without the header: they may become an A-Sync.
    zeros: u8,
    /// Number of zero bytes just seen, wherever packets begin.
    run: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Not synchronised: searching for an A-Sync.
    Search,
    /// The next byte is a header.
    Header,
    /// The next byte belongs to a field that has this many bytes left.
    Fixed(u8),
    /// The next byte belongs to a field that ends with a byte whose bit 7 is clear, or after this many.
    Continued(u8),
}

/// T: compression registers, and the fields of the current packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Compression registers.
    pub state: TraceState,
    fields: [u64; Field::Result1Key as usize + 1],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    None,
    /// Number of bytes of the timestamp or address.
    Length,
    Extension,
    Async,
    Plctl,
    Info,
    Key,
    Spec,
    Cyct,
    Wndw,
    Timestamp,
    Cycles,
    ExceptionLow,
    ExceptionHigh,
    El,
    Instrumentation,
    Commit,
    Count,
    Byte,
    Address,
    ContextInfo,
    Vmid,
    ContextId,
    Result0,
    Result0Key,
    Result1,
    Result1Key,
}

impl Default for StreamState {
    fn default() -> Self {
        let (kind, field) = (Kind::NotSync, Field::None);
        Self { mode: Mode::Search, header: 0, kind, field, index: 0, zeros: 0, run: 0 }
    }
}

impl Default for Trace {
    fn default() -> Self {
        Self { state: TraceState::default(), fields: [0; _] }
    }
}

impl Trace {
    fn get(&self, field: Field) -> u64 {
        self.fields[field as usize]
    }

    fn get32(&self, field: Field) -> u32 {
        self.get(field) as u32
    }
}

/// Processes one byte (D). Returns a packet with its last byte, and during a search only the A-Sync that is found.
pub fn step(
    byte: u8,
    mut s: StreamState,
    mut t: Trace,
    params: &Params,
) -> (StreamState, Trace, Option<Packet>) {
    let run = s.run;
    s.run = if byte == 0 { run.saturating_add(1) } else { 0 };
    let packet = match s.mode {
        Mode::Search => search(byte, &mut s),
        Mode::Header => {
            t.fields = [0; _];
            let kind = params.kind(byte);
            s = StreamState { header: byte, kind, run: s.run, ..StreamState::default() };
            advance(&mut s, &mut t, params)
        }
        Mode::Fixed(_) | Mode::Continued(_) => {
            s.zeros = if byte == 0 { s.zeros + 1 } else { 0 };
            let packet = payload(byte, &mut s, &mut t, params);
            // Eleven zeros and 0x80 are an A-Sync, even if a truncated packet took the first zeros.
            match packet {
                Some(Packet::Malformed { kind: Kind::Async }) if byte == 0x80 && run >= 11 => {
                    s.mode = Mode::Header;
                    Some(Packet::Async)
                }
                packet => packet,
            }
        }
    };
    (s, t, packet)
}

/// Applies D to `U` bytes in one step. Returns the packet that ended with each of them.
pub fn unrolled<const U: usize>(
    bytes: [u8; U],
    mut s: StreamState,
    mut t: Trace,
    params: &Params,
) -> (StreamState, Trace, [Option<Packet>; U]) {
    let packets = bytes.map(|byte| {
        let (next_s, next_t, packet) = step(byte, s.clone(), t.clone(), params);
        (s, t) = (next_s, next_t);
        packet
    });
    (s, t, packets)
}

fn search(byte: u8, s: &mut StreamState) -> Option<Packet> {
    if byte == 0x80 && s.zeros >= 11 {
        s.mode = Mode::Header;
        return Some(Packet::Async);
    }
    s.zeros = if byte == 0 { s.zeros.saturating_add(1) } else { 0 };
    None
}

/// Stores the bits of a payload byte, and checks whether its field and its packet end.
fn payload(byte: u8, s: &mut StreamState, t: &mut Trace, params: &Params) -> Option<Packet> {
    let (mask, shift) = match s.field {
        Field::Address => address_bits(s),
        Field::Async => (0xff, 0),
        Field::Timestamp if s.index == 8 => (0xff, 56),
        _ if matches!(s.mode, Mode::Continued(_)) => (0x7f, 7 * s.index),
        _ => (0xff, 8 * s.index),
    };
    // Only the first control byte of a Trace Info is defined.
    if s.field != Field::Plctl || s.index == 0 {
        t.fields[s.field as usize] |= u64::from(byte & mask) << shift;
    }
    s.index += 1;
    match s.mode {
        Mode::Fixed(1) => {}
        Mode::Continued(_) if byte & 0x80 == 0 => {}
        Mode::Continued(1) if s.field == Field::Timestamp || s.field == Field::Address => {}
        Mode::Continued(1) => return Some(bad(s, s.kind)),
        Mode::Fixed(left) => {
            s.mode = Mode::Fixed(left - 1);
            return None;
        }
        Mode::Continued(left) => {
            s.mode = Mode::Continued(left - 1);
            return None;
        }
        Mode::Search | Mode::Header => return None,
    }
    if matches!(s.field, Field::Timestamp | Field::Address) {
        t.fields[Field::Length as usize] = s.index.into();
    }
    let largest = match s.field {
        Field::Timestamp | Field::Address | Field::Instrumentation => u64::MAX,
        // The low three bits of a key come with its result.
        Field::Result0Key | Field::Result1Key => u64::from(u32::MAX >> 3),
        _ => u32::MAX.into(),
    };
    if t.get(s.field) > largest {
        return Some(bad(s, s.kind));
    }
    advance(s, t, params)
}

/// Returns the address bits of a byte of an address, as (mask, shift).
fn address_bits(s: &StreamState) -> (u8, u8) {
    let align = if is_of(s.kind, s.header) == InstructionSet::Is0 { 2 } else { 1 };
    let short = matches!(s.mode, Mode::Continued(_));
    match s.index {
        0 => (0x7f, align),
        1 if short || align == 1 => (0xff, 7 + align),
        1 => (0x7f, 9),
        index => (0xff, 8 * index),
    }
}

/// Advances to the next field, or finishes the packet.
fn advance(s: &mut StreamState, t: &mut Trace, params: &Params) -> Option<Packet> {
    match next_field(s, t, params) {
        Next::Field(field, mode) => {
            if field != s.field {
                s.index = 0;
            }
            (s.field, s.mode) = (field, mode);
            None
        }
        Next::End => match packet(s, t, params) {
            Some(packet) => {
                s.mode = Mode::Header;
                Some(packet)
            }
            None => Some(bad(s, s.kind)),
        },
        Next::Bad(kind) => Some(bad(s, kind)),
    }
}

/// Reports the current packet as malformed and starts a search, in which its last zeros count.
fn bad(s: &mut StreamState, kind: Kind) -> Packet {
    s.mode = Mode::Search;
    match s.kind {
        Kind::Reserved => Packet::Reserved { header: s.header },
        Kind::ReservedForConfig => Packet::ReservedForConfig { kind: header::ungated_kind(s.header) },
        _ => Packet::Malformed { kind },
    }
}
