use core::fmt;

/// The reason why bytes are not a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// First byte of a stream that does not start one.
    NoStart,
    /// First byte with a reserved number.
    Reserved,
    /// Byte that says what kind of packet or which privilege this is, and cannot.
    Kind(&'static str),
    /// Number that goes on after its tenth byte.
    Endless(&'static str),
    /// Field whose value is too large.
    Wide(&'static str),
}

/// The reason why no packet was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The packet goes on after the bytes.
    More,
    /// The first bytes, so many, are not a packet.
    Malformed(Malformed, usize),
}

impl Malformed {
    /// Returns the field that is wrong, or nothing, and what is wrong.
    pub const fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::NoStart => {
                ("", "not the start of a trace, which TACIT is only read from: its first bytes are missing")
            }
            Self::Reserved => ("", "a packet with a reserved number"),
            Self::Kind(field) => (field, "has a value that it cannot have"),
            Self::Endless(field) => (field, "goes on after its tenth byte"),
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

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::More => f.write_str("a packet that is not complete"),
            Self::Malformed(why, _) => why.fmt(f),
        }
    }
}

impl core::error::Error for Malformed {}
impl core::error::Error for Unread {}
