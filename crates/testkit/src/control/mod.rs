//! Naive trace control, instruction by instruction.

mod random;
mod twin;

pub use random::{EventNames, random};
pub use twin::{Asked, Happening, Period, Step, Tree, qualified};
