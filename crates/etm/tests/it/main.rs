//! The tests of this crate that use it as others do: one program, so that it is linked once.

mod laws;
mod port;
mod round_trip;
mod sequences;
mod spec;
