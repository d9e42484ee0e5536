use core::fmt;

/// Reason why bytes are not a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// Length that no packet has.
    Length,
    /// Field with an invalid value.
    Field(&'static str),
    /// Format that the parameters and options do not allow.
    Format,
    /// Attribute that contradicts the [`Params`](crate::Params).
    Params(&'static str),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("a length that no packet has"),
            Self::Field(name) => write!(f, "{name} has a value that it cannot have"),
            Self::Format => f.write_str("a format that parameters and options do not allow"),
            Self::Params(name) => write!(f, "{name} is not what the parameters say"),
        }
    }
}

impl core::error::Error for Malformed {}
