//! The operations in integers, by the book: take the bits apart, work out the result exactly or with enough bits,
//! round once.
//!
//! This is what the fast path is tested against, and what it leaves the rare cases to.

mod arithmetic;
mod compare;
mod convert;
mod number;

pub use arithmetic::{add, div, fma, mul, sqrt, sub};
pub use compare::{classify, eq, le, lt, max, min};
pub use convert::{from_integer, to_format, to_integer};
