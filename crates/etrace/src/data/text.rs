//! Packets as text.

use core::fmt;

use tracewright_core::DataKind;

use super::types::{Atomic, AtomicKind, Csr, Diff, Packet, Transfer, Value};

/// Writes `store 4, data ^0x64, address +0x8`. Differences have a sign, XOR values a `^`. Addresses that are
/// sent without their lowest bits are written with them.
impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transfer(transfer) => {
                let Transfer { store, multiple, aligned, size, lrid, diff, data, address } = *transfer;
                f.write_str(if multiple { "multiple " } else { "" })?;
                write!(f, "{} {}", if store { "store" } else { "load" }, 1 << size)?;
                request(f, lrid)?;
                value(f, "data", data, diff)?;
                place(f, address, diff, aligned, size)
            }
            Self::Atomic(Atomic { kind, size, lrid, diff, operand, data, address }) => {
                let name = match kind {
                    AtomicKind::Done(op) => DataKind::Atomic(*op).name().trim_start_matches("atomic "),
                    AtomicKind::StoreFailed => "conditional store failed",
                    AtomicKind::CompareFailed => "compare and swap failed",
                };
                write!(f, "{name} {}", 1 << size)?;
                request(f, *lrid)?;
                value(f, "operand", *operand, *diff)?;
                value(f, "data", *data, *diff)?;
                place(f, *address, *diff, true, *size)
            }
            Self::Csr(Csr { op, diff, data, operand, address }) => {
                f.write_str(DataKind::Csr(*op).name())?;
                value(f, "data", *data, *diff)?;
                value(f, "operand", *operand, *diff)?;
                let sign = if data.is_none() && diff.is_address_difference() { "+" } else { "" };
                write!(f, ", address {sign}{address:#05x}")
            }
            Self::Response(response) => {
                write!(f, "response {}", 1 << response.size)?;
                request(f, Some(response.lrid))?;
                match response.data {
                    None => f.write_str(", error"),
                    Some((diff, data)) => value(f, "data", Some(data), diff),
                }
            }
        }
    }
}

fn request(f: &mut fmt::Formatter<'_>, lrid: Option<u8>) -> fmt::Result {
    lrid.map_or(Ok(()), |lrid| write!(f, ", request {lrid}"))
}

fn value(f: &mut fmt::Formatter<'_>, what: &str, value: Option<Value>, diff: Diff) -> fmt::Result {
    let Some(Value { len, bits }) = value else { return Ok(()) };
    let mask = u64::MAX >> (64 - 8 * u32::from(len.clamp(1, 8)));
    match diff {
        Diff::Full | Diff::Address => write!(f, ", {what} {:#x}", bits & mask),
        Diff::Xor => write!(f, ", {what} ^{:#x}", bits & mask),
        Diff::Difference => write!(f, ", {what} {}", Signed(bits as i64)),
    }
}

fn place(
    f: &mut fmt::Formatter<'_>,
    address: Option<u64>,
    diff: Diff,
    aligned: bool,
    size: u8,
) -> fmt::Result {
    let Some(address) = address else { return Ok(()) };
    let address = if aligned { address << size } else { address };
    if diff.is_address_difference() {
        write!(f, ", address {}", Signed(address as i64))
    } else {
        write!(f, ", address {address:#x}")
    }
}

struct Signed(i64);

impl fmt::Display for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:#x}", if self.0 < 0 { '-' } else { '+' }, self.0.unsigned_abs())
    }
}
