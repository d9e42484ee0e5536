//! Floating-point arithmetic of RISC-V harts with the F and D extensions: the same bits and the same flags, in all
//! five rounding modes.
//!
//! The functions of [`single`] and [`double`] accept and return raw bits. They raise exceptions in [`Flags`], which
//! are sticky as in `fcsr`. NaN boxing is left to the caller.
//!
//! ```
//! use tracewright_softfloat::{Flags, Rounding, double};
//!
//! let mut flags = Flags::default();
//! let third = double::div(1f64.to_bits(), 3f64.to_bits(), Rounding::Up, &mut flags);
//! assert_eq!((f64::from_bits(third), flags), (0.33333333333333337, Flags::NX));
//! ```
//!
//! Where IEEE 754 leaves a choice, RISC-V decides:
//!
//! * A NaN result is always the canonical NaN.
//! * Tininess is detected after rounding.
//! * `min` and `max` are minimumNumber and maximumNumber of IEEE 754-2019, with -0 below +0. A signalling NaN raises
//!   NV, and the result is the other operand.
//! * `fma` of infinity times zero raises NV even if a quiet NaN is added.
//! * A number that does not fit an integer becomes the nearest limit, and a NaN the upper limit, with NV and without
//!   NX.
//!
//! There are two implementations. [`exact`] uses integers only, in the same way for all modes and formats. The
//! private `fast` uses the host's floating-point unit for nearly all operands, and `exact` for the others.
//!
//! * [`double`]: operations in double precision.
//! * [`single`]: operations in single precision.
//! * [`exact`]: operations in any [`Format`], slow and simple.
//!
//! Without the default feature `std`, this crate is `no_std`, and square roots are computed in integers. To run whole
//! programs, use `tracewright-hart`.
#![cfg_attr(not(feature = "std"), no_std)]

pub mod exact;
mod fast;
mod flags;
mod format;
mod precision;
mod rounding;

pub use flags::Flags;
pub use format::Format;
pub use precision::{double, single};
pub use rounding::Rounding;
