use core::fmt;

/// The 7-bit identifier of a trace source on a CoreSight trace bus (ATB).
///
/// Values from 0x01 to 0x6F are sources, 0x00 is padding and 0x7D a trigger. The others are reserved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TraceId(u8);

impl TraceId {
    /// The null source: padding.
    pub const NULL: Self = Self(0);

    /// Creates an ID from its 7-bit value. Returns `None` above 0x7F.
    pub const fn new(value: u8) -> Option<Self> {
        if value < 0x80 { Some(Self(value)) } else { None }
    }

    /// Creates an ID from the low seven bits of `value`, as ID registers hold it.
    pub const fn from_low_bits(value: u8) -> Self {
        Self(value & 0x7f)
    }

    /// Returns the 7-bit value.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceId({:#04x})", self.0)
    }
}

/// Writes two hex digits, such as `0x10`.
impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#04x}", self.0)
    }
}
