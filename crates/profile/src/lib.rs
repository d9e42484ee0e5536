//! What people ask of an execution. Blind to protocols: it takes the elements that any decoder tells.
//!
//! [`Clock`] says when instructions retired; [`Stalls`] sums up where the cycles went.

mod clock;
mod costs;
mod histogram;
mod stalls;
mod timeline;

pub use clock::{Clock, End, Kind, Told};
pub use costs::{Cost, Costs};
pub use histogram::{Bucket, Histogram};
pub use stalls::{Account, Longest, Stalls};
pub use timeline::{Cell, Timeline};
