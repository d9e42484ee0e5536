//! What people ask of an execution. Blind to protocols: it takes the elements that any decoder tells.
//!
//! [`Profile`] counts what ran, in binaries; [`Clock`] says when instructions retired; [`Stalls`] sums up where the cycles went.

mod clock;
mod costs;
mod counts;
pub mod coverage;
pub mod export;
mod histogram;
mod program;
mod stalls;
mod timeline;

pub use clock::{Clock, End, Kind, Told};
pub use costs::{Cost, Costs};
pub use counts::{Binary, Code, Funnel, Place, Profile, Runs};
pub use histogram::{Bucket, Histogram};
pub use program::Program;
pub use stalls::{Account, Longest, Stalls};
pub use timeline::{Cell, Timeline};
