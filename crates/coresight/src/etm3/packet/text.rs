//! Packets as text: what `tracewright packets` prints beside the bytes.

use core::fmt;

use super::types::{Address, Branch, DataAddress, Form, ISync, Packet, Reason};
use super::{ExceptionBytes, InstructionState};
use crate::etm3::Params;
use crate::shared::exception;

/// The content of a packet as text, without its name.
#[derive(Clone, Copy, Debug)]
pub struct Details<'a> {
    packet: &'a Packet,
    is_m: bool,
}

impl Packet {
    /// Returns the content of the packet as text. It is empty if the name says it all.
    pub fn details<'a>(&'a self, params: &Params) -> Details<'a> {
        Details { packet: self, is_m: params.is_m() }
    }
}

/// Returns the name of an exception. M profile has another table than A and R.
pub fn exception_name(number: u16, is_m: bool) -> String {
    if !is_m {
        return exception::name(number).into();
    }
    match number {
        0 => "No exception".into(),
        1..=7 => format!("IRQ{number}"),
        8 => "IRQ0".into(),
        9 => "UsageFault".into(),
        0xa => "NMI".into(),
        0xb => "SVC".into(),
        0xc => "DebugMonitor".into(),
        0xd => "MemManage".into(),
        0xe => "PendSV".into(),
        0xf => "SysTick".into(),
        0x11 => "Reset".into(),
        0x13 => "HardFault".into(),
        0x15 => "BusFault".into(),
        0x18.. => format!("IRQ{}", number - 0x10),
        _ => "Reserved".into(),
    }
}

impl InstructionState {
    /// Returns the name of the instruction set.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arm => "A32",
            Self::Thumb => "T32",
            Self::Jazelle => "Jazelle",
        }
    }
}

impl Reason {
    /// Returns the reason in a word or two.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Periodic => "periodic",
            Self::TraceOn => "trace on",
            Self::Overflow => "after overflow",
            Self::DebugExit => "after debug state",
        }
    }
}

/// Writes `0xc0021144 T32`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, known, state, .. } = self;
        write!(f, "{value:#x} {}", state.name())?;
        if *known < 32 { write!(f, ", only {known} bits known") } else { Ok(()) }
    }
}

/// Writes `0x20001000`.
impl fmt::Display for DataAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.value)?;
        if self.known < 32 {
            write!(f, ", only {} bits known", self.known)?;
        }
        f.write_str(if self.big_endian == Some(true) { ", big-endian" } else { "" })
    }
}

fn atoms(f: &mut fmt::Formatter<'_>, packet: &super::Atoms) -> fmt::Result {
    if packet.form == Form::Cycles {
        write!(f, "{:W<1$}", "", usize::from(packet.cycles))?;
    }
    for index in 0..packet.count {
        if packet.form != Form::Cycles && packet.cycles_before(index) > 0 {
            f.write_str("W")?;
        }
        f.write_str(if packet.passed(index) { "E" } else { "N" })?;
    }
    Ok(())
}

impl fmt::Display for ISync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason.name())?;
        if let Some(address) = self.address {
            write!(f, ", {address:#x} {}", self.state.name())?;
        }
        if let Some(current) = self.current {
            write!(f, ", load or store under way, now at {current}")?;
        }
        f.write_str(if self.non_secure { ", non-secure" } else { ", secure" })?;
        f.write_str(if self.hyp { ", Hyp" } else { "" })?;
        if let Some(id) = self.context_id {
            write!(f, ", context ID {id:#x}")?;
        }
        self.cycles.map_or(Ok(()), |cycles| write!(f, ", {cycles} cycles"))
    }
}

impl Details<'_> {
    fn branch(&self, f: &mut fmt::Formatter<'_>, branch: &Branch) -> fmt::Result {
        write!(f, "{}", branch.address)?;
        let Some(exception) = branch.exception else { return Ok(()) };
        let ExceptionBytes { number, non_secure, hyp, cancel, resume, .. } = exception;
        if number != 0 {
            write!(f, ", {} ({number:#x})", exception_name(number, self.is_m))?;
        }
        if !branch.deprecated {
            f.write_str(if non_secure { ", non-secure" } else { ", secure" })?;
            f.write_str(if hyp { ", Hyp" } else { "" })?;
        }
        f.write_str(if cancel { ", cancels the last instruction" } else { "" })?;
        resume.map_or(Ok(()), |resume| write!(f, ", resumes at {resume}"))
    }
}

impl fmt::Display for Details<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.packet {
            Packet::CycleCount(count) => write!(f, "{count}"),
            Packet::ISync(sync) => write!(f, "{sync}"),
            Packet::Atoms(packet) => atoms(f, packet),
            Packet::Branch(branch) => self.branch(f, branch),
            Packet::OutOfOrder { tag, value, .. } => write!(f, "tag {tag}, value {value:#x}"),
            Packet::Placeholder { tag, address, .. } => {
                write!(f, "tag {tag}")?;
                address.map_or(Ok(()), |address| write!(f, ", address {address}"))
            }
            Packet::Data { address, value, .. } => {
                if let Some(address) = address {
                    write!(f, "address {address}, ")?;
                }
                write!(f, "value {value:#x}")
            }
            Packet::ValueNotTraced { address: Some(address), .. } => write!(f, "address {address}"),
            Packet::Vmid(id) => write!(f, "{id:#x}"),
            Packet::ContextId(id) => write!(f, "{id:#x}"),
            Packet::Timestamp(timestamp) => {
                write!(f, "{:#x}", timestamp.value)?;
                f.write_str(if timestamp.clock_changed { ", clock changed" } else { "" })
            }
            Packet::NotSync { len: 1 } => f.write_str("1 byte skipped"),
            Packet::NotSync { len } => write!(f, "{len} bytes skipped"),
            Packet::Reserved { header } => write!(f, "header {header:#04x} is not defined"),
            Packet::ReservedForMode { kind } => {
                write!(f, "{} is not in this trace unit's configuration", kind.name())
            }
            Packet::Malformed { kind } => write!(f, "{} with bytes that cannot follow it", kind.name()),
            Packet::Incomplete { kind } => write!(f, "trace ends inside {}", kind.name()),
            Packet::Async
            | Packet::Trigger
            | Packet::StoreFailed
            | Packet::DataSuppressed
            | Packet::ValueNotTraced { address: None, .. }
            | Packet::Ignore
            | Packet::ExceptionEntry
            | Packet::ExceptionReturn => Ok(()),
        }
    }
}
