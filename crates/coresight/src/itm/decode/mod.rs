//! Packets to elements.

mod decoder;
#[cfg(test)]
mod tests;

pub use decoder::{Decoder, Options, Snapshot};
