//! Trace control, the slow and obvious way: each instruction alone.

mod random;
mod twin;

pub use random::{EventNames, random};
pub use twin::{Asked, Happening, Period, Step, Tree, qualified};
