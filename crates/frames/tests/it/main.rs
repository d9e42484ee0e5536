//! The tests of this crate that use it as others do: one program, so that it is linked once.

mod common;
mod damage;
mod demux;
mod frames;
mod laws;
mod listings;
mod syncs;
