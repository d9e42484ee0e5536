//! Groups of tokens, as in the slides.
//!
//! A and B can be 0 and are written one higher. C, D and E cannot be 0 and are written as they are.

use crate::bits::{BitReader, BitWriter, elias_bits};
use crate::config::{Config, DCode, Format};

/// A group. Its last token is 0, and not written, if a sync or the end of the trace cut the group before that token
/// was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// {A, C}
    Ac {
        /// Cycles that retired one instruction each.
        a: u64,
        /// Cycles after them that retired none.
        c: u64,
    },
    /// {A, B, C}
    Abc {
        /// Cycles that retired, and amortised stalls.
        a: u64,
        /// Instructions that these cycles could have retired and did not.
        b: u64,
        /// Cycles after them that retired none.
        c: u64,
    },
    /// {D, E}
    De {
        /// Instructions that retired in a cycle.
        d: u64,
        /// Distance in cycles to the next cycle that retired.
        e: u64,
    },
}

/// An error: the bits are not a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoGroup {
    /// The payload has no more groups.
    End,
    /// The bits are something else.
    Malformed,
}

impl Group {
    /// Writes the group in at most 381 bits.
    pub fn write(&self, config: &Config, to: &mut BitWriter) {
        let last = match *self {
            Self::Ac { a, c } => {
                to.elias(config.code, a.saturating_add(1));
                c
            }
            Self::Abc { a, b, c } => {
                to.elias(config.code, a.saturating_add(1));
                to.elias(config.code, b.saturating_add(1));
                c
            }
            Self::De { d, e } => {
                match config.d {
                    DCode::Binary => to.put(d.saturating_sub(1), config.d_bits()),
                    DCode::Elias => to.elias(config.code, d),
                }
                e
            }
        };
        if last > 0 {
            to.elias(config.code, last);
        }
    }

    /// Returns the number of bits of the group.
    #[must_use]
    pub fn bits(&self, config: &Config) -> u32 {
        let bits = |n| if n == 0 { 0 } else { elias_bits(config.code, n) };
        match *self {
            Self::Ac { a, c } => bits(a.saturating_add(1)) + bits(c),
            Self::Abc { a, b, c } => bits(a.saturating_add(1)) + bits(b.saturating_add(1)) + bits(c),
            Self::De { d, e } => bits(e) + if config.d == DCode::Binary { config.d_bits() } else { bits(d) },
        }
    }

    /// Reads the next group. With `cut`, the last group of the payload may lack its last token.
    ///
    /// # Errors
    /// At the end, and if the bits are not a group.
    #[inline]
    pub fn read(config: &Config, from: &mut BitReader, cut: bool) -> Result<Self, NoGroup> {
        if !cut && from.is_padding() {
            return Err(NoGroup::End);
        }
        let code = config.code;
        let mut first = match config.format {
            Format::Ac => Self::Ac { a: from.elias(code).ok_or(NoGroup::Malformed)? - 1, c: 0 },
            Format::Abc => Self::Abc {
                a: from.elias(code).ok_or(NoGroup::Malformed)? - 1,
                b: from.elias(code).ok_or(NoGroup::Malformed)? - 1,
                c: 0,
            },
            Format::De => {
                let d = match config.d {
                    DCode::Binary => from.take(config.d_bits()).map(|d| d + 1),
                    DCode::Elias => from.elias(code),
                };
                let d = d.filter(|&d| d <= u64::from(config.width)).ok_or(NoGroup::Malformed)?;
                Self::De { d, e: 0 }
            }
        };
        if cut && from.is_padding() {
            return Ok(first);
        }
        let last = from.elias(code).ok_or(NoGroup::Malformed)?;
        match &mut first {
            Self::Ac { c, .. } | Self::Abc { c, .. } => *c = last,
            Self::De { e, .. } => *e = last,
        }
        Ok(first)
    }

    /// Returns whether the last token is missing.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        matches!(self, Self::Ac { c: 0, .. } | Self::Abc { c: 0, .. } | Self::De { e: 0, .. })
    }
}
