use core::fmt;

/// Reason why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// MSEO bits that cannot follow those before.
    Mseo,
    /// Message without an end, longer than any.
    Endless,
    /// Message that ends before one of its fields.
    Short(&'static str),
    /// Message that goes on after its last field.
    Long,
    /// Field whose value is too large.
    Wide(&'static str),
}

impl Malformed {
    /// Returns the field that is wrong, or nothing, and what is wrong.
    pub const fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::Mseo => ("", "MSEO bits that cannot be here"),
            Self::Endless => ("", "a message that is longer than any"),
            Self::Short(field) => (field, "is missing"),
            Self::Long => ("", "a message that goes on after its last field"),
            Self::Wide(field) => (field, "has a value that is too large"),
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
