//! Packets as OpenCSD 1.8.0's packet lister prints them.

use core::fmt::{self, Write};

use super::types::{Address, Branch, ISync, ISyncReason, Packet};
use crate::shared::address::State;
use crate::shared::{exception, opencsd};

/// Writes what follows the bytes of a packet.
///
/// # Errors
/// Fails if `out` does.
pub fn write(out: &mut impl Write, packet: &Packet) -> fmt::Result {
    let kind = packet.kind();
    write!(out, "{} : {}; ", kind.opencsd_name(), kind.opencsd_description())?;
    match packet {
        Packet::ISync(sync) => i_sync(out, sync),
        Packet::Branch(branch) => self::branch(out, branch),
        Packet::WaypointUpdate(address) => self::address(out, address),
        Packet::Atoms(atoms) => {
            atoms.iter().try_for_each(|taken| out.write_char(if taken { 'E' } else { 'N' }))?;
            out.write_str("; ")
        }
        Packet::CycleAtom { taken, cycles } => {
            out.write_str(if *taken { "E; " } else { "N; " })?;
            self::cycles(out, Some(*cycles))
        }
        Packet::ContextId(id) => write!(out, "CtxtID={id:#010x}; "),
        Packet::Vmid(id) => write!(out, "VMID={id:#04x}; "),
        Packet::Timestamp(timestamp) => {
            out.write_str("TS=")?;
            opencsd::value(out, timestamp.value, 64, 64, timestamp.told)?;
            write!(out, "({}); ", timestamp.value)?;
            cycles(out, timestamp.cycles)
        }
        _ => Ok(()),
    }
}

fn cycles(out: &mut impl Write, cycles: Option<u32>) -> fmt::Result {
    cycles.map_or(Ok(()), |cycles| write!(out, "Cycles={cycles}; "))
}

const fn isa(state: State, alternative: bool) -> &'static str {
    match (state, alternative) {
        (State::Arm, _) => "ISA=ARM(32); ",
        (State::Thumb, false) => "ISA=Thumb2; ",
        (State::Thumb, true) => "ISA=ThumbEE; ",
        (State::Jazelle, _) => "ISA=Jazelle; ",
    }
}

fn i_sync(out: &mut impl Write, sync: &ISync) -> fmt::Result {
    let reason = match sync.reason {
        ISyncReason::Periodic => "Periodic",
        ISyncReason::TraceOn => "Trace Enable",
        ISyncReason::Overflow => "Restart Overflow",
        ISyncReason::Debug => "Debug Exit",
    };
    write!(out, "({reason}); Addr={:#010x}; ", sync.address)?;
    out.write_str(if sync.non_secure { "NS; " } else { "S; " })?;
    out.write_str(if sync.hyp { "Hyp; " } else { " " })?;
    if let Some(id) = sync.context_id {
        write!(out, "CtxtID={id:08x}; ")?;
    }
    out.write_str(isa(sync.state(), sync.alternative))?;
    cycles(out, sync.cycles)
}

fn address(out: &mut impl Write, address: &Address) -> fmt::Result {
    let told = match address.state {
        _ if address.width >= 32 => 32,
        State::Arm => address.width + 1,
        State::Thumb => address.width,
        State::Jazelle => address.width - 1,
    };
    out.write_str("Addr=")?;
    opencsd::value(out, address.value.into(), 32, address.known, told)?;
    out.write_str("; ")?;
    if address.changes_state {
        out.write_str(isa(address.state, address.alternative))?;
    }
    Ok(())
}

fn branch(out: &mut impl Write, branch: &Branch) -> fmt::Result {
    address(out, &branch.address)?;
    if let Some(exception) = branch.exception {
        out.write_str(if exception.non_secure { "NS; " } else { "S; " })?;
        if exception.hyp {
            out.write_str("Hyp; ")?;
        }
        let name = exception::opencsd_name(exception.number);
        write!(out, "Excep={name} [{:02x}]; ", exception.number)?;
    }
    cycles(out, branch.cycles)
}
