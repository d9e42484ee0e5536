//! The integration tests of this crate, in one binary so that it is linked once.

mod lengths;
mod walker;
mod zcm;
