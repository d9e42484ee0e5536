//! Data trace: te_data packets, their encoder and decoder.
//!
//! A packet is a string of bits as te_inst's are, without the bits at its upper end that repeat the one before. What a packet
//! has depends on [`Params`] and on [`Options`], which the last support packet told: both address and
//! value, or only one of them. Addresses and values are sent whole, or as the difference to those of the last
//! access of the same size.
//!
//! [`parse`] and [`emit`] are syntax. [`Encoder`] chooses packets for accesses, [`Decoder`] is its reverse. [`Pairing`]
//! finds the instructions that did the accesses.
//!
//! What the specification leaves open is decided so:
//!
//! * `data` of an atomic or of a CSR is what was found there: with the operand it tells all else. (The ingress port
//!   gives "store data", and so does the reference model: [`Dialect::Reference`].)
//! * A failed store-conditional (subtype 7) is sent as address only, also where values are traced: only that form
//!   lists it. Where addresses are not traced there is no form for it, and it is not sent.
//! * Where addresses are not traced, CSRs still have their number: there is no other form.
//! * An aligned address is the difference of two addresses that are both shifted. The encoder does not do that when the
//!   last access of that size was not aligned: others may read it otherwise.
//! * An operand is not compressed, as the text of 2.0 has it. In the draft ([`mmacas_ext`](crate::Params::mmacas_ext)) and in the
//!   reference model it is compressed as the data is, field by field: each against the last value of that size, be it data or
//!   operand.
//! * The second half of a split atomic is the packet that a split load has (format 4), as in later texts: that of 2.0 gives the
//!   length of its data in a field as wide as a size that it does not have.

mod bits;
mod companion;
mod decoder;
mod emit;
mod encoder;
mod history;
mod pairing;
mod parse;
mod text;
mod types;

pub use bits::Payload;
pub use companion::Companion;
pub use decoder::Decoder;
pub use emit::emit;
pub(crate) use emit::emit_into;
pub use encoder::Encoder;
pub use pairing::{Pairing, atomic_op, csr_op};
pub use parse::parse;
pub(crate) use parse::read;
pub use types::{
    Atomic, AtomicKind, AtomicRequest, Csr, Diff, LoadRequest, Packet, Response, Transfer, Value,
};

use crate::Params;

/// How data is traced (`doptions` of a support packet).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Addresses are not sent.
    pub no_address: bool,
    /// Values are not sent.
    pub no_data: bool,
    /// Addresses are sent whole, not as differences.
    pub full_address: bool,
    /// Values are sent whole, not as differences.
    pub full_data: bool,
}

/// Which compression of values an encoder has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// The bits in which a value differs from the last one.
    Xor,
    /// What a value is more than the last one.
    Difference,
    /// Either, whichever is shorter.
    #[default]
    Both,
}

/// Whose packets they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The specification's.
    #[default]
    Standard,
    /// The reference model's: what it marks as XOR is an arithmetic difference; the first access of a size is a difference to 0; only
    /// support packets begin anew; values have all their bytes; atomics have other numbers; operands are compressed, too; the value
    /// of an atomic or of a CSR is the one that was stored.
    Reference,
}

impl Params {
    /// Bits of `format`; in the draft's layout, those before the subformat.
    pub(crate) const fn data_format_bits(&self) -> u32 {
        match (self.mmacas_ext, self.split_loads, self.dtype_width) {
            (true, false, 1) => 0,
            (true, false, 2) => 1,
            (true, ..) => 2,
            (false, false, 1) => 2,
            (false, ..) => 3,
        }
    }

    /// Bits of `size`.
    pub(crate) const fn data_size_bits(&self) -> u32 {
        match self.data_width {
            0..=16 => 1,
            _ => 2,
        }
    }

    /// The size of the widest access, as a packet has it: the exponent of two.
    pub(crate) const fn data_size_max(&self) -> u8 {
        (self.data_width / 8).ilog2() as u8
    }

    /// Bits of the length of data in packets of CSRs.
    pub(crate) const fn csr_length_bits(&self) -> u32 {
        (self.csr_width / 8).ilog2()
    }

    /// Bits of `diff` in the request of a split atomic without an address.
    pub(crate) const fn request_diff_bits(&self) -> u32 {
        if self.mmacas_ext { 2 } else { self.data_diff_width as u32 }
    }

    /// A data address with only the bits that it has.
    pub(crate) const fn data_address(&self, value: u64) -> u64 {
        value & (u64::MAX >> (64 - self.daddress_width as u32))
    }
}
