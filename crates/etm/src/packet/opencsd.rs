//! Packets as text, as `trc_pkt_lister` of OpenCSD 1.8.0 prints them, for scripts that read its output.

use core::fmt::{self, Write};

use super::state::low_mask;
use super::{
    Address, Context, CycleCount, Exception, Kind, Packet, ReturnAddress, Security, Timestamp, TraceInfo,
};
use crate::{CoreProfile, Params};

/// A printer of the packets of one source, in order. OpenCSD's text depends on earlier packets: on the first Trace
/// Info, and, for an exact match, on how many bits the original address packet had.
#[derive(Clone, Debug, Default)]
pub struct Printer {
    seen_trace_info: bool,
    /// Number of bits in the packet of each address history entry.
    history: [u32; 3],
}

/// Returns the kind that OpenCSD prints at the start of the line of an error.
fn name_of_error(kind: Kind) -> Kind {
    match kind {
        // OpenCSD has no table entries for these headers if the configuration lacks them, so it prints them as
        // reserved.
        Kind::FunctionReturn
        | Kind::Instrumentation
        | Kind::TransactionStart
        | Kind::TransactionCommit
        | Kind::Ignore
        | Kind::TimestampMarker
        | Kind::Q
        | Kind::SourceAddressExact
        | Kind::SourceAddressShortIs0
        | Kind::SourceAddressShortIs1
        | Kind::SourceAddress32Is0
        | Kind::SourceAddress32Is1
        | Kind::SourceAddress64Is0
        | Kind::SourceAddress64Is1 => Kind::Reserved,
        _ => Kind::ReservedForConfig,
    }
}

impl Printer {
    /// Writes the text after the bytes of the packet: `I_ATOM_F1 : Atom format 1.; E`.
    pub fn write(&mut self, out: &mut impl Write, packet: &Packet, params: &Params) -> fmt::Result {
        let kind = match packet {
            Packet::ReservedForConfig { kind } => name_of_error(*kind),
            _ => packet.kind(),
        };
        out.write_str(kind.opencsd_name())?;
        out.write_str(" : ")?;
        out.write_str(kind.opencsd_description())?;
        self.details(out, packet, params)
    }

    fn details(&mut self, out: &mut impl Write, packet: &Packet, params: &Params) -> fmt::Result {
        match *packet {
            Packet::Atom(atoms) => {
                out.write_str("; ")?;
                atoms.write(out)
            }
            Packet::Address(address) | Packet::SourceAddress(address) => self.address(out, address),
            Packet::AddressContext(address, context) => {
                self.address(out, address)?;
                self::context(out, context)
            }
            Packet::Context(context) => {
                out.write_str("; ")?;
                self::context(out, context)
            }
            Packet::ContextSame => out.write_str("; Ctxt: Same"),
            Packet::TraceInfo(info) => self.trace_info(out, info, params),
            Packet::Timestamp(Timestamp { value, cycles, .. }) => {
                write!(out, "; Updated val = {value:#x}")?;
                cycles.map_or(Ok(()), |cycles| write!(out, "; CC={cycles:#x}"))
            }
            Packet::CycleCount(CycleCount { commit, cycles, .. }) => {
                write!(out, "; Count={:#x}", cycles.unwrap_or(0))?;
                commit.map_or(Ok(()), |commit| write!(out, "; Commit({commit})"))
            }
            Packet::Exception(exception) => self::exception(out, exception, params.profile()),
            Packet::PeReset | Packet::TransactionFailure => {
                self.push(64);
                Ok(())
            }
            Packet::Commit(count) => write!(out, "; Commit({count})"),
            Packet::CancelF1 { count, mispredict } => {
                write!(out, "; Cancel({count}){}", if mispredict { ", Mispredict" } else { "" })
            }
            Packet::Mispredict(atoms) if atoms.count == 0 => out.write_str("; Mispredict"),
            Packet::Mispredict(atoms) => write!(out, "; Atom: {atoms}, Mispredict"),
            Packet::CancelF2(atoms) if atoms.count == 0 => out.write_str("; Cancel(1), Mispredict"),
            Packet::CancelF2(atoms) => write!(out, "; Atom: {atoms}, Cancel(1), Mispredict"),
            Packet::CancelF3 { atom, count } => {
                write!(out, "; {}Cancel({count}), Mispredict", if atom { "Atom: E, " } else { "" })
            }
            Packet::Q(q) => {
                match q.count {
                    Some(count) => write!(out, "; Count({count})")?,
                    None => out.write_str("; Count(Unknown)")?,
                }
                let Some(address) = q.address else { return Ok(()) };
                if let Some(entry) = address.form.exact_entry() {
                    write!(out, "; [{entry}]")?;
                }
                let bits = self.push_address(address);
                out.write_str("; Addr=")?;
                value(out, address.value, if bits < 64 { bits } else { 0 })
            }
            Packet::Instrumentation { el, value } => write!(out, "; EL{el}; Payload={value:#x}"),
            Packet::ReservedForConfig { kind } if name_of_error(kind) == Kind::ReservedForConfig => {
                write!(out, "[{}]", kind.opencsd_name())
            }
            Packet::Malformed { kind } | Packet::Incomplete { kind } => {
                write!(out, "[{}]", kind.opencsd_name())
            }
            _ => Ok(()),
        }
    }

    fn trace_info(&mut self, out: &mut impl Write, info: TraceInfo, params: &Params) -> fmt::Result {
        write!(out, "; INFO={:#x} {{ CC.{}", info.info & 0xff, u8::from(info.cycle_counting()))?;
        if params.is_ete() {
            write!(out, ", TSTATE.{}", u8::from(info.in_transaction()))?;
        }
        out.write_str(" }")?;
        if info.cycle_counting() {
            write!(out, "; CC_THRESHOLD={:#x}", info.cyct)?;
        }
        self.history = [0; 3];
        if !core::mem::replace(&mut self.seen_trace_info, true) {
            if info.plctl & TraceInfo::SPEC != 0 {
                write!(out, "; INIT SPEC DEPTH={}", info.spec)?;
            }
            out.write_str("; Decoder Sync point TINFO")?;
        }
        Ok(())
    }

    fn address(&mut self, out: &mut impl Write, address: Address) -> fmt::Result {
        if let Some(entry) = address.form.exact_entry() {
            write!(out, ", [{entry}]")?;
        }
        let bits = self.push_address(address);
        out.write_str("; Addr=")?;
        // Only short addresses show which part is new.
        let short = address.form.exact_entry().is_none() && bits < 32;
        value(out, address.value, if short { bits } else { 0 })?;
        if short { Ok(()) } else { out.write_str("; ") }
    }

    /// Mirrors the address history. Returns the newest entry.
    fn push_address(&mut self, address: Address) -> u32 {
        let bits = match address.form.exact_entry() {
            Some(entry) => self.history[usize::from(entry)],
            None => address.form.bits(address.is),
        };
        self.push(bits);
        bits
    }

    fn push(&mut self, bits: u32) {
        self.history = [bits, self.history[0], self.history[1]];
    }
}

fn context(out: &mut impl Write, context: Context) -> fmt::Result {
    let state = if context.is_aarch64() { "AArch64," } else { "AArch32, " };
    let security = match context.security() {
        Security::Secure => "S",
        Security::NonSecure => "NS",
        Security::Root => "Root",
        Security::Realm => "Realm",
    };
    write!(out, "Ctxt: {state}EL{}, {security}; ", context.el())?;
    if let Some(id) = context.context_id() {
        write!(out, "CID={id:#010x}; ")?;
    }
    context.vmid().map_or(Ok(()), |vmid| write!(out, "VMID={vmid:#06x}; "))
}

fn exception(out: &mut impl Write, exception: Exception, profile: CoreProfile) -> fmt::Result {
    match exception.irq(profile) {
        Some(irq) => write!(out, ";  IRQ{irq};")?,
        None => {
            // OpenCSD has no names for these numbers.
            let name = match exception.name(profile) {
                "SecureFault" | "Implementation Defined" => "Reserved",
                name => name,
            };
            write!(out, ";  {name};")?;
        }
    }
    if profile == CoreProfile::M && exception.fault_pending {
        out.write_str(" Fault Pending;")?;
    }
    out.write_str(match exception.return_address {
        ReturnAddress::Follows => " Ret Addr Follows;",
        ReturnAddress::FollowsAtTarget => " Ret Addr Follows, Match Prev;",
        ReturnAddress::None | ReturnAddress::Reserved => "",
    })
}

/// Writes an address, and in brackets its low bits if only `new_bits` of them were sent.
fn value(out: &mut impl Write, value: u64, new_bits: u32) -> fmt::Result {
    // Formatted by hand, since most of the output is addresses.
    let digits: [u8; 16] =
        core::array::from_fn(|i| b"0123456789ABCDEF"[(value >> (60 - 4 * i)) as usize & 0xf]);
    out.write_str("0x")?;
    out.write_str(core::str::from_utf8(&digits).unwrap_or_default())?;
    if new_bits > 0 { write!(out, " ~[0x{:X}]", value & low_mask(new_bits)) } else { Ok(()) }
}
