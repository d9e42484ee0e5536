//! Text form of packets, as `tracewright packets` prints them beside the bytes.

use core::fmt;

use super::{Address, BranchCount, Context, Packet, QualStatus, Start, Support, Trap};
use crate::Options;

impl Packet {
    /// Returns the name of the packet.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Start(_) => "Start",
            Self::Trap(Trap { interrupt: true, .. }) => "Interrupt",
            Self::Trap(_) => "Exception",
            Self::Context(_) => "Context",
            Self::Support(_) => "Support",
            Self::Address(_) => "Address",
            Self::Branches(..) => "Branches",
            Self::BranchCount(_) => "Branch Count",
            Self::JumpTarget { .. } => "Jump Target",
        }
    }

    /// Returns the format number of the specification, and the subformat if there is one.
    pub const fn format(&self) -> (u8, Option<u8>) {
        match self {
            Self::Start(_) => (3, Some(0)),
            Self::Trap(_) => (3, Some(1)),
            Self::Context(_) => (3, Some(2)),
            Self::Support(_) => (3, Some(3)),
            Self::Address(_) => (2, None),
            Self::Branches(..) => (1, None),
            Self::BranchCount(_) => (0, Some(0)),
            Self::JumpTarget { .. } => (0, Some(1)),
        }
    }

    /// Returns whether this is a synchronisation packet, at which a reader can start.
    pub const fn is_sync(&self) -> bool {
        matches!(self, Self::Start(_) | Self::Trap(_))
    }

    /// Returns the content as text, without the name. `options` decide whether addresses are printed as
    /// differences.
    pub fn details<'a>(&'a self, options: &Options) -> Details<'a> {
        Details { packet: self, full_address: options.full_address }
    }
}

/// Content of a packet as text, without the name.
#[derive(Clone, Copy, Debug)]
pub struct Details<'a> {
    packet: &'a Packet,
    full_address: bool,
}

/// Writes name and content, with addresses as differences: `Branches TTN, +0x1c, updiscon`.
impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.details(&Options::default()))
    }
}

impl fmt::Display for Details<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.packet {
            Packet::Start(start) => start.fmt(f),
            Packet::Trap(trap) => trap.fmt(f),
            Packet::Context(context) => context.fmt(f),
            Packet::Support(support) => support.fmt(f),
            Packet::Address(address) => self.address(f, address),
            Packet::Branches(map, None) => write!(f, "{map:?}"),
            Packet::Branches(map, Some(address)) => {
                write!(f, "{map:?}, ")?;
                self.address(f, address)
            }
            Packet::BranchCount(count) => self.count(f, count),
            Packet::JumpTarget { index, branches, returns } => {
                if !branches.is_empty() {
                    write!(f, "{branches:?}, ")?;
                }
                write!(f, "cache entry {index}")?;
                self.returns(f, *returns)
            }
        }
    }
}

impl Details<'_> {
    fn address(&self, f: &mut fmt::Formatter<'_>, address: &Address) -> fmt::Result {
        let value = address.value as i64;
        match (self.full_address, value < 0) {
            (true, _) => write!(f, "{:#x}", address.value)?,
            (false, false) => write!(f, "+{value:#x}")?,
            (false, true) => write!(f, "-{:#x}", value.unsigned_abs())?,
        }
        f.write_str(if address.notify { ", notify" } else { "" })?;
        f.write_str(if address.updiscon { ", updiscon" } else { "" })?;
        self.returns(f, address.returns)
    }

    fn returns(&self, f: &mut fmt::Formatter<'_>, returns: Option<u32>) -> fmt::Result {
        returns.map_or(Ok(()), |returns| write!(f, ", returns {returns}"))
    }

    fn count(&self, f: &mut fmt::Formatter<'_>, count: &BranchCount) -> fmt::Result {
        write!(f, "{} foretold", count.count)?;
        match &count.address {
            Some(address) => {
                f.write_str(", ")?;
                self.address(f, address)?;
                f.write_str(if count.failed { ", a branch that was not" } else { "" })
            }
            None => f.write_str(", then one that was not"),
        }
    }
}

/// Writes `0x80000000, M`.
impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}, {}", self.address, self.context)?;
        f.write_str(if self.taken { ", a branch that is taken" } else { "" })
    }
}

/// Writes `cause 2, tval 0x0, handler 0x80000100, M`.
impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cause {}", self.ecause)?;
        if let Some(tval) = self.tval {
            write!(f, ", tval {tval:#x}")?;
        }
        match (self.address, self.thaddr) {
            (Some(address), true) => write!(f, ", handler {address:#x}")?,
            (Some(address), false) => write!(f, ", at {address:#x}")?,
            (None, _) => f.write_str(", handler not sent")?,
        }
        write!(f, ", {}", self.context)?;
        f.write_str(if self.taken { ", a branch that is taken" } else { "" })
    }
}

/// Writes `M, context 0x1, time 0x20`.
impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.privilege {
            0 => f.write_str("U"),
            1 => f.write_str("S"),
            3 => f.write_str("M"),
            4 => f.write_str("debug"),
            5 => f.write_str("VU"),
            6 => f.write_str("VS"),
            other => write!(f, "privilege {other}"),
        }?;
        if self.context != 0 {
            write!(f, ", context {:#x}", self.context)?;
        }
        if self.time != 0 {
            write!(f, ", time {:#x}", self.time)?;
        }
        Ok(())
    }
}

/// Writes `on, full_address`.
impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.ienable { "on" } else { "off" })?;
        f.write_str(match self.qual_status {
            QualStatus::NoChange => "",
            QualStatus::EndedRep => ", ended, reported",
            QualStatus::TraceLost => ", trace lost",
            QualStatus::EndedNtr => ", ended at a discontinuity",
        })?;
        if self.encoder_mode != 0 {
            write!(f, ", encoder mode {}", self.encoder_mode)?;
        }
        for (name, on) in self.ioptions.names() {
            f.write_str(if on { ", " } else { "" })?;
            f.write_str(if on { name } else { "" })?;
        }
        f.write_str(if self.resync_disabled { ", no resynchronisation" } else { "" })?;
        f.write_str(if self.denable { "; data on" } else { "" })?;
        f.write_str(if self.dloss { ", data lost" } else { "" })?;
        for (name, on) in self.doptions.names() {
            f.write_str(if on { ", " } else { "" })?;
            f.write_str(if on { name } else { "" })?;
        }
        Ok(())
    }
}
