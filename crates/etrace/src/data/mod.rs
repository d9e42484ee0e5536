//! Data trace: te_data packets, their encoder and decoder.
//!
//! A packet is a bit string like a te_inst packet, without the upper bits that repeat the bit below them. Its
//! fields depend on [`Params`] and on the [`Options`] of the last support packet: both address and value, or
//! only one of them. Addresses and values are sent whole, or as the difference to those of the last access of
//! the same size.
//!
//! [`parse`] and [`emit`] are syntax. [`Encoder`] chooses packets for accesses, and [`Decoder`] reverses it.
//! [`Pairing`] finds the instruction of each access.
//!
//! Where the specification is open, this crate decides:
//!
//! * `data` of an atomic or of a CSR is the old value, from which the operand gives the rest. (The ingress
//!   port and the reference model have "store data" instead: [`Dialect::Reference`].)
//! * A failed store-conditional (subtype 7) is sent as an address only, even where values are traced, because
//!   only that form lists it. Where addresses are not traced it has no form and is not sent.
//! * Where addresses are not traced, CSRs still have their number, because there is no other form.
//! * The difference of an aligned address is that of two shifted addresses. The encoder avoids it if the last
//!   access of that size was not aligned, because other readers may disagree.
//! * An operand is not compressed, as the text of 2.0 says. In the draft
//!   ([`mmacas_ext`](crate::Params::mmacas_ext)) and in the reference model it is compressed like data, field
//!   by field, each against the last value of that size, data or operand.
//! * The second half of a split atomic is the packet of a split load (format 4), as in later texts. The text
//!   of 2.0 gives the length of its data in a field as wide as a size that the packet does not have.

mod companion;
mod decoder;
mod emit;
mod encoder;
mod history;
mod pairing;
mod parse;
mod text;
mod types;

pub use companion::Companion;
pub use decoder::Decoder;
pub(crate) use emit::emit_into;
pub use emit::{Payload, emit};
pub use encoder::Encoder;
pub use pairing::{Pairing, atomic_op, csr_op};
pub use parse::parse;
pub(crate) use parse::read;
pub use types::{Atomic, AtomicKind, Csr, Diff, Packet, Response, Transfer, Value};

use crate::Params;

/// Options of data trace (`doptions` of a support packet).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether addresses are left out.
    pub no_address: bool,
    /// Whether values are left out.
    pub no_data: bool,
    /// Whether addresses are sent whole instead of as differences.
    pub full_address: bool,
    /// Whether values are sent whole instead of as differences.
    pub full_data: bool,
}

/// Compression of values that an encoder supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Bits in which a value differs from the last one.
    Xor,
    /// Arithmetic difference to the last value.
    Difference,
    /// Either, whichever is shorter.
    #[default]
    Both,
}

/// Dialect of data packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Packets of the specification.
    #[default]
    Standard,
    /// Packets of the reference model. XOR marks an arithmetic difference. The first access of a size is a
    /// difference to 0. Only support packets reset the history. Values have all their bytes. Atomics have
    /// other numbers. Operands are compressed. The value of an atomic or a CSR is the stored one.
    Reference,
}

impl Params {
    /// Returns the width of `format`; in the draft's layout, that of the bits before the subformat.
    pub(crate) const fn data_format_bits(&self) -> u32 {
        match (self.mmacas_ext, self.split_loads, self.dtype_width) {
            (true, false, 1) => 0,
            (true, false, 2) => 1,
            (true, ..) => 2,
            (false, false, 1) => 2,
            (false, ..) => 3,
        }
    }

    /// Returns the width of `size`.
    pub(crate) const fn data_size_bits(&self) -> u32 {
        match self.data_width {
            0..=16 => 1,
            _ => 2,
        }
    }

    /// Returns the size of the widest access, as an exponent of two.
    pub(crate) const fn data_size_max(&self) -> u8 {
        (self.data_width / 8).ilog2() as u8
    }

    /// Returns the width of the data length in packets of CSRs.
    pub(crate) const fn csr_length_bits(&self) -> u32 {
        (self.csr_width / 8).ilog2()
    }

    /// Returns the width of `diff` in the request of a split atomic without an address.
    pub(crate) const fn request_diff_bits(&self) -> u32 {
        if self.mmacas_ext { 2 } else { self.data_diff_width as u32 }
    }

    /// Truncates `value` to the width of a data address.
    pub(crate) const fn data_address(&self, value: u64) -> u64 {
        value & (u64::MAX >> (64 - self.daddress_width as u32))
    }
}
