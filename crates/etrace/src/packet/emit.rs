//! Packets to payloads.

use core::fmt;
use core::ops::Deref;

use super::read::map_width;
use super::{Address, BranchMap, Context, MAX_PAYLOAD, Packet, support};
use crate::Params;
use crate::bits::{Writer, sign_extended};

/// Payload bytes of one packet.
#[derive(Clone, Copy)]
pub struct PayloadBytes {
    bytes: [u8; MAX_PAYLOAD],
    len: u8,
}

impl Default for PayloadBytes {
    fn default() -> Self {
        Self { bytes: [0; MAX_PAYLOAD], len: 0 }
    }
}

impl Deref for PayloadBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }
}

impl fmt::Debug for PayloadBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Error for a packet that has no payload because no encoder sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPayload(
    /// Reason.
    pub &'static str,
);

impl fmt::Display for NoPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no packet can say this: {}", self.0)
    }
}

impl core::error::Error for NoPayload {}

/// Writes the shortest payload of `packet` to `out`. Values are truncated to the width of their fields.
///
/// # Errors
/// Fails if no payload can express the packet.
pub fn emit(packet: &Packet, params: &Params, out: &mut PayloadBytes) -> Result<(), NoPayload> {
    let mut writer = Writer::default();
    emit_into(packet, params, &mut writer)?;
    let len = finish(&mut writer, params, 1);
    writer.copy_to(&mut out.bytes[..len]);
    out.len = len as u8;
    Ok(())
}

/// Compresses the payload. Returns how many bytes remain, at least `least`.
pub(crate) fn finish(writer: &mut Writer, params: &Params, least: usize) -> usize {
    if params.address_bytes { writer.len().max(least) } else { writer.compress(least) }
}

/// Appends all bits of a payload, uncompressed.
pub(crate) fn emit_into(packet: &Packet, params: &Params, writer: &mut Writer) -> Result<(), NoPayload> {
    match packet {
        Packet::Start(start) => {
            format_3(writer, 0, Some(start.taken), &start.context, params);
            if params.address_bytes {
                address_in_bytes(writer, start.address, params);
            } else {
                full_address(writer, start.address, params);
            }
        }
        Packet::Trap(trap) => {
            format_3(writer, 1, Some(trap.taken), &trap.context, params);
            writer.put(trap.ecause, params.ecause_width.into());
            writer.bit(trap.interrupt);
            writer.bit(trap.thaddr);
            match trap.address {
                Some(address) => full_address(writer, address, params),
                None if trap.thaddr => {}
                None => return Err(NoPayload("a trap without address that is not at its handler")),
            }
            match (trap.tval, trap.interrupt) {
                (Some(tval), false) => writer.put(tval, params.iaddress_width.into()),
                (None, true) => {}
                (Some(_), true) => return Err(NoPayload("an interrupt with a trap value")),
                (None, false) => return Err(NoPayload("an exception without trap value")),
            }
        }
        Packet::Context(context) => format_3(writer, 2, None, context, params),
        Packet::Support(support) => {
            writer.put(0b1111, 4);
            support::write(writer, support, params);
        }
        Packet::Address(address) => {
            writer.put(2, 2);
            put_address(writer, address, params);
        }
        Packet::Branches(map, None) => {
            if !map.is_full() {
                return Err(NoPayload("fewer than 31 branches without address"));
            }
            writer.put(1, 2 + 5);
            writer.put(map.bits().into(), 31);
        }
        Packet::Branches(map, Some(address)) => {
            if map.is_empty() {
                return Err(NoPayload("no branches in format 1"));
            }
            writer.put(1, 2);
            if params.address_bytes && map.is_full() {
                writer.put(0, 5);
                writer.put(map.bits().into(), 31);
            } else {
                branches(writer, *map);
            }
            put_address(writer, address, params);
        }
        Packet::BranchCount(count) => {
            let Some(sent) = count.count.checked_sub(31).filter(|&sent| sent <= u32::MAX.into()) else {
                return Err(NoPayload("a count of branches that is not from 31 to 31 + 2^32 - 1"));
            };
            writer.put(0, 2 + u32::from(params.f0s_width));
            writer.put(sent, 32);
            match (&count.address, count.failed) {
                (None, true) => writer.put(0, 2),
                (None, false) => return Err(NoPayload("branches that were all foretold without address")),
                (Some(address), failed) => {
                    writer.put(2 | u64::from(failed), 2);
                    put_address(writer, address, params);
                }
            }
        }
        Packet::JumpTarget { index, branches: map, returns: reported } => {
            writer.put(0, 2);
            writer.put(1, params.f0s_width.into());
            writer.put((*index).into(), params.cache_size.into());
            branches(writer, *map);
            returns(writer, *reported, params);
        }
    }
    Ok(())
}

fn format_3(writer: &mut Writer, subformat: u64, taken: Option<bool>, context: &Context, params: &Params) {
    writer.put(3 | subformat << 2, 4);
    if let Some(taken) = taken {
        writer.bit(!taken);
    }
    writer.put(context.privilege.into(), params.privilege_width.into());
    writer.put(context.time, params.time_bits());
    writer.put(context.context, params.context_bits());
}

fn full_address(writer: &mut Writer, address: u64, params: &Params) {
    writer.put(address >> params.iaddress_lsb, params.address_bits());
}

fn branches(writer: &mut Writer, map: BranchMap) {
    writer.put(map.count().into(), 5);
    writer.put(map.bits().into(), map_width(map.count() as u8));
}

fn put_address(writer: &mut Writer, address: &Address, params: &Params) {
    if params.address_bytes {
        address_in_bytes(writer, address.value, params);
        writer.bit(address.notify);
        change(writer, address.updiscon);
        change(writer, address.returns.is_some());
        return;
    }
    full_address(writer, address.value, params);
    change(writer, address.notify);
    change(writer, address.updiscon);
    returns(writer, address.returns, params);
}

/// Appends the fewest bytes that hold the signed address, then its sign once more.
fn address_in_bytes(writer: &mut Writer, address: u64, params: &Params) {
    let value = sign_extended(address, params.iaddress_width.into()) >> params.iaddress_lsb;
    let bits = 65 - if value < 0 { value.leading_ones() } else { value.leading_zeros() };
    writer.put(value as u64, 8 * bits.div_ceil(8));
    writer.bit(value < 0);
}

/// Appends a bit that differs from the one before it if `asserted`.
fn change(writer: &mut Writer, asserted: bool) {
    writer.bit(writer.last() != asserted);
}

fn returns(writer: &mut Writer, reported: Option<u32>, params: &Params) {
    change(writer, reported.is_some());
    let value = match reported {
        Some(value) => value.into(),
        None if writer.last() || params.irdepth_ones => u64::MAX,
        None => 0,
    };
    writer.put(value, params.returns_bits());
}
