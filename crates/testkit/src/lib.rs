//! What the tests of all crates share: a deterministic random source (more joins it as crates need it).

mod rng;

pub use rng::Rng;
