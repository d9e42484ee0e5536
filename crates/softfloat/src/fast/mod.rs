//! Operations on the host's floating-point unit, where its results are those of RISC-V and the flags are easy to
//! find.
//!
//! That holds for finite results that are not near the ends of the range, mostly when rounding to nearest even, as
//! Rust's `f32` and `f64` do. All other cases are left to [`exact`](crate::exact).
//!
//! The host does not report flags. Such results can raise only NX, so once it is set nothing has to be computed.

mod arithmetic;
mod compare;
mod convert;
mod fma;
mod host;

pub use arithmetic::{add, div, mul, sqrt, sub};
pub use compare::{classify, eq, le, lt, max, min};
pub use convert::{from_signed, from_unsigned, narrow, to_i32, to_i64, to_u32, to_u64, widen};
pub use fma::fma;
