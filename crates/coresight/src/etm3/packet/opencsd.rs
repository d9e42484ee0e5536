//! Packets as text, as `trc_pkt_lister` of OpenCSD 1.8.0 prints them.

use core::fmt::{self, Write};

use super::types::{Branch, DataAddress, Form, ISync, Packet, Reason};
use super::{InstructionState, Kind};
use crate::etm3::Params;
use crate::shared::{exception, opencsd};

/// Writes the text after the bytes of the packet: `P_HDR : Atom P-header.; WE; Cycles=1`.
///
/// # Errors
/// Fails if `out` does.
pub fn write(out: &mut impl Write, packet: &Packet, params: &Params) -> fmt::Result {
    let kind = packet.kind();
    write!(out, "{} : {}", kind.opencsd_name(), kind.opencsd_description())?;
    match packet {
        Packet::Atoms(atoms) => self::atoms(out, atoms),
        Packet::Branch(branch) => self::branch(out, branch, params),
        Packet::ISync(sync) => i_sync(out, sync),
        Packet::CycleCount(count) => write!(out, "; Cycles={count}"),
        Packet::ContextId(id) => write!(out, "; CtxtID={id:#x}"),
        Packet::Vmid(id) => write!(out, "; VMID={id:#x}"),
        Packet::Timestamp(timestamp) => write!(out, "; TS={0:#x} ({0}) ", timestamp.value),
        Packet::OutOfOrder { tag, value, .. } => write!(out, "; Val={value:#x}; OO_Tag={tag:#x}"),
        Packet::ValueNotTraced { address, .. } => data_address(out, address.as_ref()),
        Packet::Placeholder { tag, address, .. } => {
            data_address(out, address.as_ref())?;
            write!(out, "; OO_Tag={tag:#x}")
        }
        Packet::Data { address, value, .. } => {
            data_address(out, address.as_ref())?;
            write!(out, "; Val={value:#x}")
        }
        Packet::Malformed { kind } | Packet::ReservedForMode { kind } => {
            write!(out, "[{}]", kind.opencsd_name())
        }
        _ => Ok(()),
    }
}

fn atoms(out: &mut impl Write, atoms: &super::Atoms) -> fmt::Result {
    out.write_str("; ")?;
    if matches!(atoms.form, Form::Cycles) {
        (0..atoms.cycles).try_for_each(|_| out.write_str("W"))?;
    }
    for index in 0..atoms.count {
        if !matches!(atoms.form, Form::Cycles) && atoms.cycles_before(index) > 0 {
            out.write_str("W")?;
        }
        out.write_str(if atoms.passed(index) { "E" } else { "N" })?;
    }
    if atoms.cycles > 0 { write!(out, "; Cycles={}", atoms.cycles) } else { Ok(()) }
}

const fn isa(state: InstructionState, alternative: bool) -> &'static str {
    match state {
        InstructionState::Arm => "ISA=ARM(32); ",
        InstructionState::Thumb if alternative => "ISA=ThumbEE; ",
        InstructionState::Thumb => "ISA=Thumb2; ",
        InstructionState::Jazelle => "ISA=Jazelle; ",
    }
}

fn branch(out: &mut impl Write, branch: &Branch, params: &Params) -> fmt::Result {
    let address = &branch.address;
    out.write_str("; Addr=")?;
    opencsd::value(out, address.value.into(), 32, address.known, address.told)?;
    out.write_str("; ")?;
    let exception = branch.exception;
    if branch.new_state {
        out.write_str(isa(address.state, exception.is_some_and(|exception| exception.alternative)))?;
    }
    let Some(exception) = exception else { return Ok(()) };
    if !branch.deprecated {
        out.write_str(if exception.non_secure { "NS; " } else { "S; " })?;
        out.write_str(if exception.hyp { "Hyp; " } else { "" })?;
    }
    out.write_str("Exception=")?;
    if params.is_m() {
        match exception.number {
            1..=7 => write!(out, "IRQ{}", exception.number)?,
            0x18.. => write!(out, "IRQ{}", exception.number - 0x10)?,
            number => out.write_str(m_name(number))?,
        }
        if let Some(resume) = exception.resume.filter(|&resume| resume != 0) {
            write!(out, "; Resume={resume}")?;
        }
    } else {
        write!(out, "{}; ", exception::opencsd_name(exception.number))?;
    }
    out.write_str(if exception.cancel { "; Cancel prev instr" } else { "" })
}

/// Returns the name of an exception of M profile that is no interrupt.
const fn m_name(number: u16) -> &'static str {
    match number {
        0 => "No Exception",
        8 => "IRQ0",
        9 => "usage Fault",
        0xa => "NMI",
        0xb => "SVC",
        0xc => "DebugMonitor",
        0xd => "Mem Manage",
        0xe => "PendSV",
        0xf => "SysTick",
        0x11 => "PE Reset",
        0x13 => "HardFault",
        0x15 => "BusFault",
        _ => "Reserved",
    }
}

fn i_sync(out: &mut impl Write, sync: &ISync) -> fmt::Result {
    out.write_str(match sync.reason {
        Reason::Periodic => "; (Periodic); ",
        Reason::TraceOn => "; (Trace Enable); ",
        Reason::Overflow => "; (Restart Overflow); ",
        Reason::DebugExit => "; (Debug Exit); ",
    })?;
    if let Some(address) = sync.address {
        let what = if sync.current.is_some() { "Data Instr Addr" } else { "Addr" };
        write!(out, "{what}={address:#010x}; ")?;
    }
    out.write_str(if sync.non_secure { "NS; " } else { "S; " })?;
    out.write_str(if sync.hyp { "Hyp; " } else { " " })?;
    if let Some(id) = sync.context_id {
        write!(out, "CtxtID={id:x}; ")?;
    }
    if sync.address.is_none() {
        return Ok(());
    }
    out.write_str(isa(sync.state, sync.alternative))?;
    if let Some(cycles) = sync.cycles {
        write!(out, "Cycles={cycles}; ")?;
    }
    if let Some(current) = sync.current {
        out.write_str("Curr Instr Addr=")?;
        opencsd::value(out, current.value.into(), 32, 32, current.told)?;
        out.write_str(";")?;
    }
    Ok(())
}

fn data_address(out: &mut impl Write, address: Option<&DataAddress>) -> fmt::Result {
    let Some(address) = address else { return Ok(()) };
    out.write_str("; Addr=")?;
    opencsd::value(out, address.value.into(), 32, address.known, address.told)
}

// A kind's own name is never that of the packets that it stands for.
const _: () = assert!(Kind::COUNT == 24);
