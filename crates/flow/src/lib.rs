//! Following the execution of a program from block to block.
//!
//! A program ([`Image`](tracewright_image::Image)) and what a trace says about its branches go in. The blocks that
//! ran come out.
//!
//! A [`Walker`] has a program and a current address. A protocol decoder calls it with the outcomes of branches and
//! with addresses, and it reports blocks to a [`Trail`]. A [`Runner`] does the same for traces that contain only
//! conditional branches and uninferable jumps, such as RISC-V E-Trace. Both keep a [`Graph`]: each block that
//! execution reaches is found once, and linked to the blocks that follow it. [`Counts`] is a [`ElementSink`] that counts
//! blocks by graph node, which is faster than emitting them.
//!
//! ```
//! use tracewright_core::{Block, Ended, Isa, MemorySpace};
//! use tracewright_flow::{Graph, NodeId, Rules, Trail, Walker};
//! use tracewright_image::{Bytes, Image};
//!
//! /// The start of each block, and whether its branch was taken.
//! struct Starts(Vec<(u64, bool)>);
//!
//! impl Trail for Starts {
//!     fn node(&mut self, graph: &Graph<'_>, id: NodeId, taken: bool) {
//!         self.0.push((graph.node(id).start(), taken));
//!     }
//!     fn block(&mut self, block: &Block) {
//!         self.0.push((block.start, block.ended == Ended::Taken));
//!     }
//! }
//!
//! // nop; cbz x0, . - 4; ret
//! let code = [0xd503_201f_u32, 0xb4ff_ffe0, 0xd65f_03c0].map(u32::to_le_bytes).concat();
//! let mut builder = Image::builder();
//! builder.raw("code.bin", Bytes::from(code), 0x1000, MemorySpace::ANY).unwrap();
//! let image = builder.build();
//!
//! let mut starts = Starts(Vec::new());
//! let mut walker = Walker::new(&image, Rules::default());
//! walker.set_address(0x1000, Isa::A64);
//! walker.branch(true, &mut starts).unwrap();
//! walker.branch(false, &mut starts).unwrap();
//! assert_eq!(starts.0, [(0x1000, true), (0x1000, false)]);
//! assert_eq!(walker.address(), Some((0x1008, Isa::A64)));
//! ```
//!
//! This crate knows no protocol: use `tracewright-etm` or `tracewright-etrace` to decode packets. It needs `std` and
//! has no features.

mod calls;
mod counts;
mod edges;
mod graph;
pub mod hash;
mod index;
mod instructions;
mod leaps;
mod node;
mod paths;
mod runner;
mod scan;
mod sink;
mod strides;
mod verify;
mod walker;

pub use calls::{Calls, ReturnStack};
pub use counts::{BlockCounts, Counts, Where};
pub use edges::Edge;
pub use graph::Graph;
pub use instructions::{InBlock, Instructions, cut};
pub use leaps::Leap;
pub use node::{Node, NodeId, Stop};
pub use paths::{Branches, End};
pub use runner::{Goal, Inferred, Reached, Returns, Runner};
pub use scan::pair_target;
pub use sink::ElementSink;
pub use verify::{BlockCheck, check_block};
pub use walker::{Rules, Snapshot, Stuck, Trail, Walker};
