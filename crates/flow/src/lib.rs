//! Where does execution go from here?
//!
//! A [`Walker`] knows the program ([`Image`](tracewright_image::Image)) and where execution is; protocol decoders tell it
//! what the trace says, and it tells the blocks that ran. Under it lies a [`Graph`]: each block of the program that
//! execution came to is found once and kept, with links to the blocks that follow it.
//!
//! It knows no protocol.
//!
//! # Files
//!
//! * `walker` (entry), `runner` (entry for RISC-V; `calls`, `strides`, `leaps`), `graph` and `node` (the blocks found
//!   so far), `scan` (finds them), `index` and `edges` (hash tables for indirect branches), `return_stack`, `sink`,
//!   `counts` and `paths` (counting without blocks), `instructions`.

mod calls;
mod counts;
mod edges;
mod graph;
mod index;
mod instructions;
mod leaps;
mod node;
mod paths;
mod return_stack;
mod runner;
mod scan;
mod sink;
mod strides;
mod walker;

pub use calls::Calls;
pub use counts::{Counts, Profile, Where};
pub use edges::Edge;
pub use graph::Graph;
pub use instructions::{InBlock, Instructions};
pub use leaps::Leap;
pub use node::{Node, NodeId, Stop};
pub use paths::{Branches, End};
pub use return_stack::ReturnStack;
pub use runner::{Goal, Inferred, Reached, Returns, Runner};
pub use scan::pair_target;
pub use sink::Sink;
pub use walker::{Rules, Snapshot, Stuck, Trail, Walker};
