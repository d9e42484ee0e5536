//! The tests of this crate that use it as others do: one program, so that it is linked once.

mod damage;
mod port;
mod readme;
mod refused;
mod round_trip;
mod slides;
mod support;
