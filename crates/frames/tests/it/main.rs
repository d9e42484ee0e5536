//! The integration tests of this crate, in one binary so that it is linked once.

mod common;
mod damage;
mod demux;
mod frames;
mod laws;
mod line;
mod listings;
mod pib;
mod syncs;
