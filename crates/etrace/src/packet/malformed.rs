use core::fmt;

/// Why bytes are no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// A length that no packet has.
    Length,
    /// A field has a value that it cannot have.
    Field(&'static str),
    /// A format that parameters and options do not allow.
    Format,
    /// An attribute is not what the [`Params`](crate::Params) say.
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
