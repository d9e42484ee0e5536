//! The operations on the host's floating-point unit, where it gives what RISC-V says and the flags are easily told:
//! results that are finite and not near the ends of the range, mostly when rounding to nearest even, which is how
//! Rust's `f32` and `f64` round. All else is for [`exact`](crate::exact).
//!
//! The host tells no flags. Of those only NX can be raised by such results, so once it is set there is nothing to
//! find out.

mod arithmetic;
mod compare;
mod convert;
mod fma;
mod host;

pub use arithmetic::{add, div, mul, sqrt, sub};
pub use compare::{classify, eq, le, lt, max, min};
pub use convert::{from_signed, from_unsigned, narrow, to_i32, to_i64, to_u32, to_u64, widen};
pub use fma::fma;
