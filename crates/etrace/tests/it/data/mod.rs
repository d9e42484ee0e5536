//! Data trace.

mod pairing;
mod programs;
pub mod random;
mod reference;
mod round_trip;
mod spec;
mod whole;
