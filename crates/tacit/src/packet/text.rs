//! Text form of packets.

use core::fmt;

use super::types::{Packet, SyncKind, TrapKind};

/// Value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A word.
    Word(&'static str),
    /// A number that people read in decimal.
    Count(u64),
    /// An address, or bits.
    Bits(u64),
}

/// Names of privileges.
const PRIVILEGES: [&str; 4] = ["U", "S", "H", "M"];

impl Packet {
    /// Passes name and value of each field to `take`.
    pub fn fields(&self, mut take: impl FnMut(&'static str, Value)) {
        let privilege = |level: u8| Value::Word(PRIVILEGES[usize::from(level & 3)]);
        match *self {
            Self::TakenBranch { time }
            | Self::NotTakenBranch { time }
            | Self::InferableJump { time }
            | Self::Miss { time } => take("time", Value::Count(time)),
            Self::Hits { count } => take("count", Value::Count(count)),
            Self::UninferableJump { difference, time } => {
                take("xor", Value::Bits(difference));
                take("time", Value::Count(time));
            }
            Self::Trap { kind, privilege: levels, asid, from, difference, time } => {
                take("event", Value::Word(kind.name()));
                if let Some([before, after]) = levels {
                    take("before", privilege(before));
                    take("after", privilege(after));
                }
                if let Some(asid) = asid {
                    take("asid", Value::Count(asid));
                }
                take("from", Value::Bits(from));
                take("xor", Value::Bits(difference));
                take("time", Value::Count(time));
            }
            Self::Sync { kind, privilege: level, asid, configuration, target, time } => {
                take("event", Value::Word(kind.name()));
                if let Some(level) = level {
                    take("privilege", privilege(level));
                }
                if let Some(asid) = asid {
                    take("asid", Value::Count(asid));
                }
                if let Some(configuration) = configuration {
                    take("configuration", Value::Bits(configuration.into()));
                }
                take("target", Value::Bits(target));
                take("time", Value::Count(time));
            }
        }
    }
}

impl TrapKind {
    /// Returns the kind in a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exception => "exception",
            Self::Interrupt => "interrupt",
            Self::Return => "return",
        }
    }
}

impl SyncKind {
    /// Returns the kind in a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Periodic => "periodic",
            Self::End => "end",
        }
    }
}

/// Writes the name, and the fields behind it.
impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let mut result = Ok(());
        self.fields(|name, value| {
            result = result.and_then(|()| match value {
                Value::Word(word) => write!(f, " {name}={word}"),
                Value::Count(count) => write!(f, " {name}={count}"),
                Value::Bits(bits) => write!(f, " {name}={bits:#x}"),
            });
        });
        result
    }
}
