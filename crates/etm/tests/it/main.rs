//! The integration tests of this crate, in one binary so that it is linked once.

mod laws;
mod m_profile;
mod port;
mod round_trip;
mod spec;
