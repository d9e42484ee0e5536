//! Text form of messages.

use core::fmt;

use super::table::KINDS;
use super::{History, Packet, Process};

impl Packet {
    /// Returns the number of the message.
    pub const fn tcode(&self) -> u8 {
        KINDS[self.kind()].0
    }

    /// Returns the name of the message.
    pub const fn name(&self) -> &'static str {
        KINDS[self.kind()].1
    }

    /// Returns the reason for the synchronisation, if this is a message with one. A reader can start there.
    pub const fn sync(&self) -> Option<u8> {
        match self {
            Self::ProgTraceSync { sync, .. }
            | Self::DirectBranchSync { sync, .. }
            | Self::IndirectBranchSync { sync, .. }
            | Self::IndirectBranchHistSync { sync, .. } => Some(*sync),
            _ => None,
        }
    }

    /// Returns what the most telling field means, if it has a meaning that its number does not show.
    fn meaning(&self) -> Option<&'static str> {
        match self {
            Self::ResourceFull { rcode, .. } => named(RESOURCES, *rcode),
            Self::ProgTraceCorrelation { evcode, .. } => named(EVENTS, *evcode),
            Self::IndirectBranch { btype, .. } | Self::IndirectBranchHist { btype, .. } if *btype > 0 => {
                named(TRAPS, *btype)
            }
            Self::Error { etype: 0, .. } => Some("buffer full"),
            _ => named(REASONS, self.sync()?),
        }
    }
}

const REASONS: &[&str] = &[
    "external trigger",
    "exit from reset",
    "periodic",
    "exit from debug mode",
    "instruction counter full",
    "trace enabled",
    "trace event",
    "restart after a loss",
    "",
    "exit from power-down",
];
const EVENTS: &[&str] = &["debug mode", "low power", "", "", "trace off"];
const RESOURCES: &[&str] = &["instruction counter", "history", "repeated history"];
const TRAPS: &[&str] = &["", "trap", "exception", "interrupt"];

fn named(names: &[&'static str], code: u8) -> Option<&'static str> {
    names.get(usize::from(code)).copied().filter(|name| !name.is_empty())
}

/// Writes name and fields: `IndirectBranchHist btype=0 icnt=0x7d uaddr=0x7 hist=0xffe (TTTTTTTTTTN)`.
impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let mut result = Ok(());
        self.fields(|name, value| result = result.and_then(|()| write!(f, " {name}={value}")));
        result?;
        if let Some(meaning) = self.meaning() {
            write!(f, " ({meaning})")?;
        }
        if let Self::Ownership { process } = self {
            let Process { privilege, is_virtual, .. } = Process::of(*process);
            let letter = ["U", "S", "", "M"][usize::from(privilege)];
            write!(f, " ({}{letter})", if is_virtual { "V" } else { "" })?;
        }
        match self.history() {
            Some(history) if !history.is_empty() => write!(f, " ({history})"),
            _ => Ok(()),
        }
    }
}

impl Packet {
    /// Returns the branches, if the message has any.
    pub const fn history(&self) -> Option<History> {
        match self {
            Self::IndirectBranchHist { hist, .. }
            | Self::IndirectBranchHistSync { hist, .. }
            | Self::ProgTraceCorrelation { hist: Some(hist), .. }
            | Self::ResourceFull { rcode: 1 | 2, rdata: hist, .. } => History::of(*hist),
            _ => None,
        }
    }
}

/// Writes a letter for each branch, from the first on: `T` taken, `N` not.
impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut history = *self;
        history.try_for_each(|taken| f.write_str(if taken { "T" } else { "N" }))
    }
}
