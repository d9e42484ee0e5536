//! What people ask of an execution. Blind to protocols: it takes the elements that any decoder tells.
//!
//! [`Profile`] counts what ran, in binaries; [`Clock`] says when instructions retired; [`Stalls`] sums up where the cycles went.

mod clock;
mod costs;
mod counts;
pub mod diff;
pub mod export;
mod funnel;
mod histogram;
mod program;
mod stalls;
pub mod store;
mod timeline;

pub use clock::{Clock, End, Kind, Told};
pub use costs::{Cost, Costs};
pub use counts::{Binary, Code, Place, Profile, Runs};
pub use funnel::Funnel;
pub use histogram::{Bucket, Histogram};
pub use program::Program;
pub use stalls::{Account, Longest, Stalls};
pub use timeline::{Cell, Timeline};
