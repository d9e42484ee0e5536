//! What people ask of an execution. Blind to protocols: it takes the elements that any decoder tells.
//!
//! [`Tracker`] finds calls in elements and [`Tree`] sums up what ran under which callers;
//! [`Profile`] counts what ran, in binaries; [`Clock`] says when instructions retired; [`Stalls`] sums up where the cycles went.

mod calls;
mod clock;
mod costs;
mod counts;
pub mod coverage;
pub mod diff;
pub mod export;
mod functions;
mod funnel;
mod histogram;
mod meter;
mod program;
pub mod slices;
mod stalls;
pub mod store;
mod timeline;
pub mod walk;

pub use calls::{Calls, Edge, How, Losses, Node, Sums, Thread, Tracker, Tree, Watch};
pub use clock::{Clock, End, Kind, Told};
pub use costs::{Cost, Costs};
pub use counts::{Binary, Code, Place, Profile, Runs};
pub use functions::{Function, Functions, Within};
pub use funnel::Funnel;
pub use histogram::{Bucket, Histogram};
pub use meter::Meter;
pub use program::Program;
pub use stalls::{Account, Longest, Stalls};
pub use timeline::{Cell, Timeline};
