//! Data trace.

mod laws;
mod random;
