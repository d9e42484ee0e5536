//! The integration tests of this crate, in one binary so that it is linked once.

mod damage;
mod port;
mod readme;
mod refused;
mod round_trip;
mod slides;
mod support;
