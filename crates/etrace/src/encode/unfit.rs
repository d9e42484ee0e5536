//! Values that are wider than their fields.

use core::fmt;

use crate::Params;
use crate::bits::sign_extended;

/// A value that is wider than its field: a packet carries only its lowest bits, which are another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit {
    field: Field,
    value: u64,
    /// The parameter's value.
    size: u8,
}

/// A field of a packet whose width is a parameter. Contexts are not among them: hardware, too, sends only their low bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Address,
    /// The low bits of an address that are not sent.
    AddressLsb,
    TrapValue,
    Cause,
    Privilege,
}

impl Unfit {
    /// Returns the value if a field with these parameters cannot carry it.
    pub(super) fn of(field: Field, value: u64, params: &Params) -> Option<Self> {
        let unless = |fits: bool, field, size| (!fits).then_some(Self { field, value, size });
        let has_bits = |bits: u8| bits >= 64 || value >> bits == 0;
        match field {
            Field::Address | Field::AddressLsb | Field::TrapValue => {
                let (width, lsb) = (params.iaddress_width, params.iaddress_lsb);
                // Registers of 32 bits may be kept as sign-extended ones.
                let is_same =
                    params.address(value) == value || width == 32 && sign_extended(value, 32) as u64 == value;
                // No program has odd addresses: a log that does is told elsewhere.
                let is_even = field == Field::TrapValue || lsb < 2 || value & ((1 << lsb) - 1) == 0;
                unless(is_same, field, width).or_else(|| unless(is_even, Field::AddressLsb, lsb))
            }
            // All ones stand for a cause that is not known.
            Field::Cause => {
                unless(value == u64::MAX || has_bits(params.ecause_width), field, params.ecause_width)
            }
            Field::Privilege => unless(has_bits(params.privilege_width), field, params.privilege_width),
        }
    }

    /// Returns the name of the parameter that is too small, or, for `iaddress_lsb`, too large.
    pub const fn parameter(&self) -> &'static str {
        match self.field {
            Field::Address | Field::TrapValue => "iaddress_width",
            Field::AddressLsb => "iaddress_lsb",
            Field::Cause => "ecause_width",
            Field::Privilege => "privilege_width",
        }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, value, size } = *self;
        match field {
            Field::Address | Field::AddressLsb => write!(f, "address {value:#x}")?,
            Field::TrapValue => write!(f, "trap value {value:#x}")?,
            Field::Cause => write!(f, "cause {value}")?,
            Field::Privilege => write!(f, "privilege {value}")?,
        }
        write!(f, " does not fit {}={size}", self.parameter())
    }
}
