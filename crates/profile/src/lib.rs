//! Analyses of an execution: profiles, call trees, coverage, loops, stalls and timelines.
//!
//! Input is [`Element`](tracewright_core::Element)s, in order, from a decoder of any protocol, and the
//! [`Image`](tracewright_image::Image) that ran. Each analysis takes elements one by one and has accessors for its results.
//! [`Tracker`] finds calls and drives a [`Tree`] or [`slices`]; a [`Clock`] assigns times, from which [`Stalls`] sums up
//! cycles. A [`Profile`] counts blocks and branches by binary; [`coverage`], [`diff`], [`branches()`], [`counted`] and
//! [`export`] work on it, with names and lines from a [`Program`], and [`store`] saves it.
//!
//! ```
//! use tracewright_core::{Block, Class, Element, Ended, Isa, MemorySpace};
//! use tracewright_profile::{Clock, Stalls, Told};
//!
//! let block = |start| Block {
//!     start,
//!     end: start + 8,
//!     count: 2,
//!     isa: Isa::A64,
//!     last_len: 4,
//!     class: Class::NEXT,
//!     ended: Ended::Through,
//! };
//! let elements =
//!     [Element::Block(block(0x1000)), Element::Cycles(Some(2)), Element::Block(block(0x1008)), Element::Cycles(Some(9))];
//! let mut clock = Clock::counts();
//! let mut stalls = Stalls::new(clock.kind());
//! for element in &elements {
//!     match (clock.take(element), element) {
//!         (Told::Block(stamps), Element::Block(block)) => stalls.block(block, MemorySpace::ANY, stamps, || 0),
//!         (told, _) => stalls.told(told),
//!     }
//! }
//! stalls.finish(clock.end().cycle);
//! assert_eq!((stalls.account().retired, stalls.account().cycles), (4, 11));
//! ```
//!
//! The crate has no features. To obtain elements, use the decoder of a protocol; to count blocks during decoding, use
//! `tracewright-flow`.
//!
//! Modules: `calls` (call tracking and trees), `clock` and `window` (time, and parts of a run), `stalls`, `costs`,
//! `histogram` and `timeline` (cycles), `counts`, `program`, `functions`, `inlined`, `starts` and `places`
//! (profiles and what they refer to), `branches`, `loops`, `paths`, `events`, `exceptions` and `threads` (statistics); public ones are listed below.

pub mod annotate;
pub mod branch_list;
mod branches;
mod by_address;
mod calls;
mod clock;
mod contexts;
mod costs;
mod counts;
pub mod coverage;
pub mod diff;
mod events;
mod exceptions;
pub mod export;
mod functions;
mod histogram;
mod inlined;
mod layout;
mod loops;
mod paths;
mod places;
mod program;
pub mod slices;
mod stalls;
mod starts;
pub mod store;
mod threads;
mod timeline;
pub mod walk;
mod window;

pub use branches::{Branch, branches};
pub use calls::{
    CallSums, CallTree, Calls, DEEPEST, Edge, How, Losses, Node, NumberedRow, StackedCall, Thread, Tracker,
    Tree, TreeRow, TreeRowKind, Watch,
};
pub use clock::{Clock, End, Kind, Told};
pub use contexts::Contexts;
pub use costs::{Cost, Costs};
pub use counts::{Binary, Code, Funnel, Place, Profile, Runs};
pub use events::{EventAt, EventRow, Events};
pub use exceptions::{ExceptionKey, ExceptionStats, Exceptions, Spread};
pub use functions::{Declaration, Function, FunctionKey, Functions, Within};
pub use histogram::{Bucket, Histogram};
pub use inlined::InlinedCopy;
pub use loops::{Graph, Leader, Loop, TripCounts, Trips, counted, forest};
pub use paths::{Conditioned, Correlated, HotPath, Paths, WIDEST};
pub use places::{PlaceError, PlaceFilter, PlaceNames, PlaceParts, Span, binaries, is_called};
pub use program::{Named, Program, Unnamed, inlined_at};
pub use stalls::{Account, Longest, Meter, Stalls};
pub use threads::{ThreadKey, ThreadStats, Threads, ThreadsBy};
pub use timeline::{Cell, Timeline};
pub use walk::inlined_into;
pub use window::{Gate, Timed, TimedGate, Window};
