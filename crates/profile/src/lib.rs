//! What people ask of an execution. Blind to protocols: it takes the elements that any decoder tells.
//!
//! [`Tracker`] finds calls in elements and [`Tree`] sums up what ran under which callers;
//! [`Profile`] counts what ran, in binaries; [`Clock`] says when instructions retired; [`Stalls`] sums up where the cycles went.
//!
//! # Files
//!
//! * When: `clock`, `stalls`, `costs`, `histogram`, `timeline`, `window`, `meter`, `slices` (calls along the run).
//! * What: `counts`, `places`, `funnel` (what became of the trace), `diff`, `coverage`, `walk`, `inlined`, `branches`,
//!   `paths`, `events`, `functions`, `by_address`.
//! * Order: `calls` (`tracker`, `stack`, `tree`), `loops` (`graph`, `forest`, `trips`, `counted`).
//! * Files: `store` (our own profiles), `branch_list` (simpleperf's), `export` (a file per format).

pub mod branch_list;
mod branches;
mod by_address;
mod calls;
mod clock;
mod costs;
mod counts;
pub mod coverage;
pub mod diff;
mod events;
pub mod export;
mod functions;
mod funnel;
mod histogram;
mod inlined;
mod loops;
mod meter;
mod paths;
mod places;
mod program;
pub mod slices;
mod stalls;
pub mod store;
mod timeline;
pub mod walk;
mod window;

pub use branches::{Branch, branches};
pub use calls::{CallTree, Calls, DEEPEST, Edge, How, Losses, Node, Sums, Thread, Tracker, Tree, Watch};
pub use clock::{Clock, End, Kind, Told};
pub use costs::{Cost, Costs};
pub use counts::{Binary, Code, Place, Profile, Runs};
pub use events::{EventAt, EventRow, Events};
pub use functions::{Function, Functions, Within};
pub use funnel::Funnel;
pub use histogram::{Bucket, Histogram};
pub use inlined::inlined_into;
pub use loops::{Graph, Leader, Loop, TripCounts, Trips, counted, forest};
pub use meter::Meter;
pub use paths::{Conditioned, Correlated, HotPath, Paths, WIDEST};
pub use places::{Places, Span};
pub use program::Program;
pub use stalls::{Account, Longest, Stalls};
pub use timeline::{Cell, Timeline};
pub use window::{Gate, Window};
