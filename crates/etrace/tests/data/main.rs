//! Data trace.

mod laws;
mod random;
mod reference;
mod round_trip;
