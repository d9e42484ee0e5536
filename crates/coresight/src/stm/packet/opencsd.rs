//! Packets as OpenCSD 1.8.0's packet lister prints them.

use core::fmt::{self, Write};

use super::kind::{Kind, Size};
use super::types::Packet;
use crate::shared::opencsd;

/// Name and description of a kind of packets.
const fn names(kind: Kind) -> (&'static str, &'static str) {
    use Kind::*;
    match kind {
        Null | NullTs => ("NULL", "Null packet"),
        M8 => ("M8", "Set current master"),
        C8 => ("C8", "Set current channel"),
        C16 => ("C16", "Set current channel"),
        D4 | D4Ts | D4M | D4Mts => ("D4", "4 bit data"),
        D8 | D8Ts | D8M | D8Mts => ("D8", "8 bit data"),
        D16 | D16Ts | D16M | D16Mts => ("D16", "16 bit data"),
        D32 | D32Ts | D32M | D32Mts => ("D32", "32 bit data"),
        D64 | D64Ts | D64M | D64Mts => ("D64", "64 bit data"),
        Flag | FlagTs => ("FLAG", "Flag packet"),
        Trig | TrigTs => ("TRIG", "Trigger packet"),
        Freq => ("FREQ", "Frequency packet"),
        Merr => ("MERR", "Master Error"),
        Gerr => ("GERR", "Global Error"),
        Version => ("VERSION", "Version packet"),
        Async => ("ASYNC", "Alignment synchronisation packet"),
        NotSync => ("NOTSYNC", "STM not synchronised"),
        Malformed => ("BAD_SEQUENCE", "Invalid sequence in packet"),
        Incomplete => ("INCOMPLETE_EOT", "Incomplete packet flushed at end of trace"),
        // What a CoreSight STM does not send has no meaning for OpenCSD.
        M16 | User | UserTs | FreqTs | Xsync | XsyncTs | Reserved => ("RESERVED", "Reserved Packet Header"),
    }
}

/// Returns the name of a kind of packets, without marks and timestamps.
pub const fn name(kind: Kind) -> &'static str {
    names(kind).0
}

const fn is_marked(kind: Kind) -> bool {
    matches!(kind as usize, number if number >= Kind::D4M as usize && number <= Kind::D64Mts as usize)
}

/// Writes what follows the bytes of a packet. `previous` is the kind of the packet before.
///
/// # Errors
/// Fails if `out` does.
pub fn write(out: &mut impl Write, packet: &Packet, previous: Option<Kind>) -> fmt::Result {
    let kind = packet.kind();
    let (name, description) = names(kind);
    let has_forms = kind >= Kind::D4 && kind <= Kind::TrigTs;
    let (marked, timed) = (has_forms && is_marked(kind), has_forms && kind.has_timestamp());
    let (m, ts) = (if marked { "M" } else { "" }, if timed { "TS" } else { "" });
    write!(out, "{name}{m}{ts}:{description}")?;
    out.write_str(if marked { " + marker" } else { "" })?;
    out.write_str(if timed { " + timestamp" } else { "" })?;
    match *packet {
        Packet::Version(encoding) => write!(out, "; Ver={}", encoding.version())?,
        Packet::Frequency { hertz, timestamp: None } => write!(out, "; Freq={hertz}Hz")?,
        Packet::Trigger { value, .. } => write!(out, "; TrigData={value:#04x}")?,
        Packet::Master { number, wide: false } => write!(out, "; Master={number:#04x}")?,
        Packet::Channel { number, .. } => write!(out, "; Chan={number:#06x}")?,
        Packet::Data { size, value, .. } => data(out, size, value)?,
        Packet::Malformed { kind } => of(out, Some(kind), previous)?,
        Packet::Incomplete { kind } => of(out, kind, previous)?,
        _ => {}
    }
    match packet.timestamp().filter(|_| names(kind).0 != "RESERVED") {
        Some(timestamp) => {
            out.write_str("; TS=")?;
            opencsd::value(out, timestamp.value, 64, 64, timestamp.told)
        }
        None => Ok(()),
    }
}

fn data(out: &mut impl Write, size: Size, value: u64) -> fmt::Result {
    write!(out, "; Data={value:#0width$x}", width = 2 + usize::from(size.nibbles()))
}

/// Writes the kind that a bad packet would have been: without its timestamp, which was not read. An ASYNC is known only at its end:
/// before that it is of the same kind as the packet before, as OpenCSD sees it.
fn of(out: &mut impl Write, kind: Option<Kind>, previous: Option<Kind>) -> fmt::Result {
    let Some(kind) = kind.filter(|&kind| kind != Kind::Async) else {
        return write!(out, "[{}]", names(previous.unwrap_or(Kind::NotSync)).0);
    };
    write!(out, "[{}{}]", names(kind).0, if is_marked(kind) { "M" } else { "" })
}
