//! Floating-point arithmetic as a RISC-V hart with the F and D extensions does it: same bits, same flags, in all five
//! rounding modes.
//!
//! Every function of [`single`] and [`double`] takes and gives raw bits, and raises what it has to in [`Flags`], which
//! are sticky as in `fcsr`. NaN boxing is the caller's business.
//!
//! ```
//! use tracewright_softfloat::{Flags, Rounding, double};
//!
//! let mut flags = Flags::default();
//! let third = double::div(1f64.to_bits(), 3f64.to_bits(), Rounding::Up, &mut flags);
//! assert_eq!((f64::from_bits(third), flags), (0.33333333333333337, Flags::NX));
//! ```
//!
//! What RISC-V says where IEEE 754 leaves a choice:
//!
//! * A NaN that comes out is the canonical one, whatever went in.
//! * Tininess is detected after rounding.
//! * `min` and `max` are minimumNumber and maximumNumber of IEEE 754-2019, with -0 below +0. (A signalling NaN raises
//!   NV and the other operand comes out.)
//! * `fma` of infinity times zero raises NV also when a quiet NaN is added.
//! * What does not fit an integer becomes the nearest limit, a NaN the upper limit, with NV and without NX.
//!
//! There are two implementations. [`exact`] works in integers, by the book, one way for all modes and formats. `fast`
//! asks the host's floating-point unit in the cases that make up nearly everything, and `exact` in all others.
#![cfg_attr(not(feature = "std"), no_std)]

pub mod double;
pub mod exact;
mod fast;
mod flags;
mod format;
mod rounding;
pub mod single;

pub use flags::Flags;
pub use format::Format;
pub use rounding::Rounding;
