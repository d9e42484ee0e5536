//! Operations in integers: unpack the bits, compute the result exactly or with enough bits, round once.
//!
//! The fast path is tested against this module, and leaves rare cases to it.

mod arithmetic;
mod compare;
mod convert;
mod number;

pub use arithmetic::{add, div, fma, mul, sqrt, sub};
pub use compare::{classify, eq, le, lt, max, min};
pub use convert::{from_integer, to_format, to_integer};
