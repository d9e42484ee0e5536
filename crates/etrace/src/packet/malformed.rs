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

impl Malformed {
    /// Returns the field that is wrong, or nothing, and what is wrong with it.
    pub fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::Length => ("", "a length that no packet has"),
            Self::Field(name) => (name, "has a value that it cannot have"),
            Self::Format => ("", "a format that parameters and options do not allow"),
            Self::Params(name) => (name, "is not what the parameters say"),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            ("", what) => f.write_str(what),
            (field, what) => write!(f, "{field} {what}"),
        }
    }
}

impl core::error::Error for Malformed {}
