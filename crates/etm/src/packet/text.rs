//! Packets as text: what `tracewright packets` prints beside the bytes.

use core::fmt;

use super::{
    Address, AddressForm, ConditionalInstruction, ConditionalResult, Context, CycleCount, Exception, Packet,
    Q, ReturnAddress, Timestamp, TraceInfo,
};
use crate::{CoreProfile, Params};

/// The content of a packet as text, without its name.
#[derive(Clone, Copy, Debug)]
pub struct Details<'a> {
    packet: &'a Packet,
    profile: CoreProfile,
}

impl Packet {
    /// Returns the content of the packet as text. It is empty if the name says it all.
    pub fn details<'a>(&'a self, params: &Params) -> Details<'a> {
        Details { packet: self, profile: params.profile() }
    }
}

impl fmt::Display for Details<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.packet {
            Packet::TraceInfo(info) => info.fmt(f),
            Packet::Timestamp(timestamp) => timestamp.fmt(f),
            Packet::Exception(exception) => self.exception(f, exception),
            Packet::Instrumentation { el, value } => write!(f, "EL{el} {value:#x}"),
            Packet::CycleCount(count) => count.fmt(f),
            Packet::NumberedDataSync(number) | Packet::UnnumberedDataSync(number) => write!(f, "{number}"),
            Packet::Commit(count) => write!(f, "{count}"),
            Packet::CancelF1 { count, .. } => write!(f, "{count}"),
            Packet::Mispredict(atoms) if atoms.count > 0 => write!(f, "{atoms}, then mispredict"),
            Packet::CancelF2(atoms) if atoms.count > 0 => write!(f, "{atoms}, then 1 and mispredict"),
            Packet::CancelF2(_) => f.write_str("1 and mispredict"),
            Packet::CancelF3 { atom, count } => {
                write!(f, "{}{count} and mispredict", if *atom { "E, then " } else { "" })
            }
            Packet::ConditionalInstruction(instruction) => instruction.fmt(f),
            Packet::ConditionalResult(result) => result.fmt(f),
            Packet::Event(events) => {
                let mut separator = "";
                (0..4)
                    .filter(|event| events >> event & 1 == 1)
                    .try_for_each(|event| write!(f, "{}{event}", core::mem::replace(&mut separator, " ")))
            }
            Packet::ContextSame => f.write_str("unchanged"),
            Packet::Context(context) => context.fmt(f),
            Packet::AddressContext(address, context) => write!(f, "{address}, {context}"),
            Packet::Address(address) | Packet::SourceAddress(address) => address.fmt(f),
            Packet::Q(q) => q.fmt(f),
            Packet::Atom(atoms) => atoms.fmt(f),
            Packet::NotSync { len: 1 } => f.write_str("1 byte skipped"),
            Packet::NotSync { len } => write!(f, "{len} bytes skipped"),
            Packet::Reserved { header } => write!(f, "header {header:#04x} is not defined"),
            Packet::ReservedForConfig { kind } => {
                write!(f, "{} is not in this trace unit's configuration", kind.name())
            }
            Packet::Malformed { kind } => write!(f, "{} with bytes that cannot follow it", kind.name()),
            Packet::Incomplete { kind } => write!(f, "trace ends inside {}", kind.name()),
            Packet::Async
            | Packet::Discard
            | Packet::Overflow
            | Packet::TraceOn
            | Packet::FunctionReturn
            | Packet::PeReset
            | Packet::TransactionFailure
            | Packet::ExceptionReturn
            | Packet::TransactionStart
            | Packet::TransactionCommit
            | Packet::Mispredict(_)
            | Packet::ConditionalFlush
            | Packet::Ignore
            | Packet::TimestampMarker => Ok(()),
        }
    }
}

impl Details<'_> {
    fn exception(&self, f: &mut fmt::Formatter<'_>, exception: &Exception) -> fmt::Result {
        match exception.irq(self.profile) {
            Some(irq) => write!(f, "IRQ{irq}")?,
            None => write!(f, "{} ({:#x})", exception.name(self.profile), exception.number)?,
        }
        f.write_str(match exception.return_address {
            ReturnAddress::None => "",
            ReturnAddress::Follows => ", return address follows",
            ReturnAddress::FollowsAtTarget => ", return address follows, = branch target",
            ReturnAddress::Reserved => ", reserved return form",
        })?;
        f.write_str(if exception.fault_pending { ", fault pending" } else { "" })
    }
}

impl fmt::Display for TraceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.cycle_counting() { "cycle counting on" } else { "cycle counting off" })?;
        if self.plctl & Self::CYCT != 0 {
            write!(f, ", threshold {}", self.cyct)?;
        }
        if self.in_transaction() {
            f.write_str(", in a transaction")?;
        }
        if self.plctl & Self::SPEC != 0 {
            write!(f, ", {} uncommitted", self.spec)?;
        }
        if self.plctl & Self::KEY != 0 {
            write!(f, ", P0 key {}", self.key)?;
        }
        if self.plctl & Self::WNDW != 0 {
            write!(f, ", window {}", self.wndw)?;
        }
        Ok(())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.value)?;
        self.cycles.map_or(Ok(()), |cycles| write!(f, ", {cycles} cycles"))
    }
}

impl fmt::Display for CycleCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cycles {
            Some(cycles) => write!(f, "{cycles} cycles")?,
            None => f.write_str("unknown")?,
        }
        self.commit.map_or(Ok(()), |commit| write!(f, ", commit {commit}"))
    }
}

impl fmt::Display for ConditionalInstruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F1 { key } => write!(f, "key {key}"),
            Self::F2(0) => f.write_str("1, next key"),
            Self::F2(1) => f.write_str("1, same key"),
            Self::F2(_) => f.write_str("2, next key"),
            Self::F3 { increments, same_key: false } => write!(f, "{increments}, next keys"),
            Self::F3 { increments, same_key: true } => write!(f, "{increments}, next keys, and 1, same key"),
        }
    }
}

impl fmt::Display for ConditionalResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F1(first, second) => {
                write!(f, "key {} = {:#x}", first.key, first.result)?;
                second.map_or(Ok(()), |second| write!(f, ", key {} = {:#x}", second.key, second.result))
            }
            Self::F2 { increment, token } => write!(f, "key + {increment} = {token}"),
            Self::F3 { tokens } => write!(f, "tokens {tokens:#05x}"),
            Self::F4 { token } => write!(f, "same key = {token}"),
        }
    }
}

/// Writes `EL1 AArch64 non-secure, context ID 0x1, VMID 0x0`.
impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.is_aarch64() { "AArch64" } else { "AArch32" };
        write!(f, "EL{} {state} {}", self.el(), self.security())?;
        if let Some(id) = self.context_id() {
            write!(f, ", context ID {id:#x}")?;
        }
        self.vmid().map_or(Ok(()), |vmid| write!(f, ", VMID {vmid:#x}"))
    }
}

/// Writes the address, and for an exact match the history entry.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.value)?;
        match self.form {
            AddressForm::Exact0 => f.write_str(" [0]"),
            AddressForm::Exact1 => f.write_str(" [1]"),
            AddressForm::Exact2 => f.write_str(" [2]"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Q {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            Some(count) => write!(f, "{count} instructions, ")?,
            None => f.write_str("unknown number of instructions, ")?,
        }
        match self.address {
            Some(address) => write!(f, "then {address}"),
            None => f.write_str("address follows"),
        }
    }
}
