//! Payloads to packets.

use super::{
    Address, BranchCount, BranchMap, Context, Malformed, Packet, PayloadBytes, Start, Trap, emit, support,
};
use crate::bits::{Reader, sign_extended};
use crate::{Options, Params};

/// Parses `bytes` as the payload of one packet, given the options of the last support packet.
///
/// Payloads that are longer than necessary are accepted; see [`is_canonical`].
///
/// # Errors
/// Reports why no encoder with these parameters and options can send this payload.
pub fn parse(bytes: &[u8], params: &Params, options: &Options) -> Result<Packet, Malformed> {
    if bytes.is_empty() {
        return Err(Malformed::Length);
    }
    read(&mut Reader::new(bytes, 0), params, options)
}

/// Returns whether `bytes` equal the payload that [`emit`](super::emit) makes of `packet`.
pub fn is_canonical(bytes: &[u8], packet: &Packet, params: &Params) -> bool {
    let mut emitted = PayloadBytes::default();
    emit(packet, params, &mut emitted).is_ok() && *emitted == *bytes
}

/// Reads a payload to its end.
#[inline]
pub(crate) fn read(reader: &mut Reader, params: &Params, options: &Options) -> Result<Packet, Malformed> {
    let packet = match reader.take(2) {
        0 => format_0(reader, params, options)?,
        1 => {
            let branches = reader.take(5) as u8;
            if branches == 0 {
                let map = BranchMap::new(reader.take(31) as u32, 31);
                // PULP's encoder uses the same number for 31 branches with and without an address.
                let more = params.address_bytes && reader.rest() >= 8;
                Packet::Branches(map, if more { Some(address(reader, params, options)?) } else { None })
            } else {
                let map = BranchMap::new(reader.take(map_width(branches)) as u32, branches);
                Packet::Branches(map, Some(address(reader, params, options)?))
            }
        }
        2 => Packet::Address(address(reader, params, options)?),
        _ => format_3(reader, params, options)?,
    };
    if reader.too_long() { Err(Malformed::Length) } else { Ok(packet) }
}

fn format_0(reader: &mut Reader, params: &Params, options: &Options) -> Result<Packet, Malformed> {
    let (count, index) = (
        options.branch_prediction && params.bpred_size > 0,
        options.jump_target_cache && params.cache_size > 0,
    );
    let subformat = match (params.f0s_width, count, index) {
        (_, false, false) => return Err(Malformed::Format),
        (0, true, true) => return Err(Malformed::Params("f0s_width")),
        (0, ..) => u64::from(index),
        (width, ..) => reader.take(width.into()),
    };
    match subformat {
        0 if count => {
            let count = 31 + reader.take(32);
            let branch_fmt = reader.take(2);
            let address = match branch_fmt {
                0 => None,
                1 => return Err(Malformed::Field("branch_fmt")),
                _ => Some(address(reader, params, options)?),
            };
            Ok(Packet::BranchCount(BranchCount { count, failed: branch_fmt != 2, address }))
        }
        1 if index => {
            let index = reader.take(params.cache_size.into()) as u32;
            let branches = reader.take(5) as u8;
            let branches = BranchMap::new(reader.take(map_width(branches)) as u32, branches);
            Ok(Packet::JumpTarget { index, branches, returns: returns(reader, params)? })
        }
        0 | 1 => Err(Malformed::Format),
        _ => Err(Malformed::Field("subformat")),
    }
}

fn format_3(reader: &mut Reader, params: &Params, options: &Options) -> Result<Packet, Malformed> {
    let subformat = reader.take(2);
    if subformat == 3 {
        return Ok(Packet::Support(support::read(reader, params, options)?));
    }
    let taken = subformat != 2 && !reader.bit();
    let context = Context {
        privilege: reader.take(params.privilege_width.into()) as u8,
        time: reader.take(params.time_bits()),
        context: reader.take(params.context_bits()),
    };
    if matches!(context.privilege, 2 | 7..) {
        return Err(Malformed::Field("privilege"));
    }
    Ok(match subformat {
        0 => {
            let address = if params.address_bytes {
                params.address(address_in_bytes(reader, 0, params)?)
            } else {
                full_address(reader, params)
            };
            Packet::Start(Start { taken, context, address })
        }
        1 => {
            let ecause = reader.take(params.ecause_width.into());
            let (interrupt, thaddr) = (reader.bit(), reader.bit());
            let address = (!thaddr || !options.implicit_exception).then(|| full_address(reader, params));
            let tval = (!interrupt).then(|| reader.take(params.iaddress_width.into()));
            Packet::Trap(Trap { taken, context, ecause, interrupt, thaddr, address, tval })
        }
        _ => Packet::Context(context),
    })
}

fn full_address(reader: &mut Reader, params: &Params) -> u64 {
    reader.take(params.address_bits()) << params.iaddress_lsb
}

#[inline]
fn address(reader: &mut Reader, params: &Params, options: &Options) -> Result<Address, Malformed> {
    if params.address_bytes {
        let value = address_in_bytes(reader, 3, params)?;
        let value = if options.full_address { params.address(value) } else { value };
        // Flags are chained to each other, but not to the address.
        let notify = reader.bit();
        let updiscon = changes(reader);
        return Ok(Address { value, notify, updiscon, returns: changes(reader).then_some(0) });
    }
    let value = if options.full_address {
        full_address(reader, params)
    } else {
        reader.signed(params.address_bits()) << params.iaddress_lsb
    };
    let notify = changes(reader);
    let updiscon = changes(reader);
    Ok(Address { value, notify, updiscon, returns: returns(reader, params)? })
}

/// Reads an address as PULP's encoder sends it: the fewest bytes that hold it, and its sign. Its length
/// follows from the payload's length; `after` more bits and padding follow the address.
fn address_in_bytes(reader: &mut Reader, after: u32, params: &Params) -> Result<u64, Malformed> {
    let bytes = reader.rest().saturating_sub(after + 1) / 8;
    if bytes == 0 || bytes > params.address_bits().div_ceil(8) {
        return Err(Malformed::Length);
    }
    let low = reader.take(8 * bytes);
    let negative = reader.bit();
    let value = if bytes < 8 && negative { low | u64::MAX << (8 * bytes) } else { low };
    if sign_extended(value, params.address_bits()) as u64 != value {
        return Err(Malformed::Field("address"));
    }
    Ok(value << params.iaddress_lsb)
}

/// Reads a flag, which is asserted if its bit differs from the one before, so that an unasserted flag costs
/// nothing.
#[inline]
fn changes(reader: &mut Reader) -> bool {
    reader.previous() != reader.bit()
}

/// Reads `irreport`, and `irdepth` or `irets`.
#[inline]
fn returns(reader: &mut Reader, params: &Params) -> Result<Option<u32>, Malformed> {
    let report = changes(reader);
    let repeated = reader.previous();
    let width = params.returns_bits();
    let value = reader.take(width);
    if report {
        return Ok(Some(value as u32));
    }
    // Each bit repeats `irreport`. The reference model sends ones whatever `irreport` is.
    let ones = (1 << width) - 1;
    if value == ones || value == 0 && !repeated {
        Ok(None)
    } else {
        Err(Malformed::Field(if params.iret_ext { "irets" } else { "irdepth" }))
    }
}

/// Returns the width of the branch map for a number of branches.
#[inline]
pub(super) const fn map_width(branches: u8) -> u32 {
    // Computed without branching: 0, 1, 3, 7, 15, 31.
    (1 << (8 - branches.leading_zeros())) - 1
}
