//! Packets as OpenCSD 1.8.0's packet lister prints them.

use core::fmt::{self, Write};

use tracewright_core::Delay;

use super::{Kind, Packet};
use crate::itm::hardware::Hardware;

/// Writes what follows the bytes of a packet.
///
/// # Errors
/// Fails if `out` does.
pub fn write(out: &mut impl Write, packet: &Packet) -> fmt::Result {
    let kind = packet.kind();
    write!(out, "{}: ", kind.opencsd_name())?;
    match *packet {
        Packet::Stimulus { port, size, value } => {
            write!(out, "{{src id: {:#04x}}}  ", port & 31)?;
            self::value(out, value.into(), size)?;
        }
        Packet::Hardware(hardware) => self::hardware(out, hardware)?,
        Packet::LocalTimestamp { value, delay, bytes } => {
            self::value(out, value.into(), bytes.max(1))?;
            let delay = match delay {
                Delay { timestamp: false, packet: false } => "TS Sync",
                Delay { timestamp: true, packet: false } => "TS Delayed",
                Delay { timestamp: false, packet: true } => "TS Sync, Packet Delayed",
                Delay { timestamp: true, packet: true } => "TS Delayed, Packet Delayed",
            };
            write!(out, " {{ {delay} }}")?;
        }
        Packet::GlobalLow { value, clock_changed, wrapped, bytes } => {
            let highest = if bytes == 4 { 25 } else { 7 * bytes - 1 };
            write!(out, "{{ TS bits [{highest}:0]")?;
            out.write_str(if clock_changed { ", Clk change" } else { "" })?;
            out.write_str(if wrapped { ", Clk wrap" } else { "" })?;
            out.write_str("} ")?;
            self::value(out, value.into(), bytes)?;
        }
        // It keeps 40 bits.
        Packet::GlobalHigh { value, bytes: 5.. } => {
            out.write_str("{ TS bits [63:26]} ")?;
            self::value(out, value & 0xff_ffff_ffff, 5)?;
        }
        Packet::GlobalHigh { value, bytes } => {
            out.write_str("{ TS bits [47:26]} ")?;
            self::value(out, value, bytes)?;
        }
        Packet::Extension { hardware: false, value, bytes: 0 } => {
            write!(out, "{{stim port page}} {value:#04x}")?;
        }
        Packet::Extension { value, bytes, .. } => {
            let bits = if bytes == 4 { 32 } else { 3 + 7 * usize::from(bytes) };
            write!(out, "{{unknown extension type, {bits} bits }} 0x{value:0width$x}", width = bits / 4 + 1)?;
        }
        // Zeros that no synchronisation packet follows.
        Packet::Padding { .. } => write!(out, "[Init type: {}] ", Kind::Async.opencsd_name())?,
        Packet::Malformed { kind } | Packet::Incomplete { kind } => {
            write!(out, "[Init type: {}] ", kind.opencsd_name())?;
        }
        _ => {}
    }
    write!(out, "; '{}'", kind.opencsd_description())
}

/// Writes a value of `size` bytes.
fn value(out: &mut impl Write, value: u64, size: u8) -> fmt::Result {
    write!(out, "0x{value:0width$x}", width = 2 * usize::from(size))
}

fn hardware(out: &mut impl Write, hardware: Hardware) -> fmt::Result {
    let Hardware { source, size, value } = hardware;
    write!(out, "{{desc: {source:#04x}}} ")?;
    let comparator = source >> 1 & 3;
    let is_second = source & 1 == 1;
    let mut bracket = |what: fmt::Arguments<'_>, end: &str| {
        write!(out, "[{what}")?;
        self::value(out, value.into(), size)?;
        out.write_str(end)
    };
    match Kind::of_hardware(source) {
        Kind::Counters => {
            write!(out, "[Event Counter: {value:#04x}; Flags: ")?;
            for (bit, name) in ["CPI", "EXC", "Sleep", "LSU", "Fold", "CYC"].into_iter().enumerate() {
                write!(out, " {} ", if value >> bit & 1 == 1 { name } else { "---" })?;
            }
            out.write_str("] ")
        }
        Kind::Exception => {
            let change = ["reserved", "entered", "exited", "returned to"][(value >> 12 & 3) as usize];
            write!(out, "[Exception Num:  {:#06x}({change}) ]", value & 0x1ff)
        }
        Kind::Sample => bracket(format_args!("PC Sample: "), "] "),
        Kind::DataTrace if source >= 16 => {
            let what = if is_second { "write" } else { "read" };
            bracket(format_args!("Data Trc: comp={comparator}; Val {what}: "), "] ")
        }
        Kind::DataTrace => {
            let what = if is_second { "Address" } else { "PC Value" };
            bracket(format_args!("Data Trc: comp={comparator}; {what}="), " ] ")
        }
        _ => out.write_str("[Reserved discriminator value] "),
    }
}
