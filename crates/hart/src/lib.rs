//! A RISC-V machine that runs real programs and reports every instruction that retires.
//!
//! Input is an ELF file or a log of another simulator; output is a stream of retired blocks for a [`HartSink`]. A [`Hart`] executes
//! in a [`Machine`], its environment: [`linux`] for one user-mode program, or [`bare`] without an operating system. What the sink
//! does not ask for (memory accesses, instruction bits, cycles) is not computed. [`timing`] adds cycles from a model of a core,
//! [`Controlled`] keeps only the part that trace control selects, and [`log`] writes and reads executions.
//!
//! ```no_run
//! use tracewright_core::Block;
//! use tracewright_hart::linux::{Linux, Options, Streams};
//! use tracewright_hart::{Hart, HartSink};
//!
//! /// Counts blocks.
//! struct Count(u64);
//!
//! impl HartSink for Count {
//!     fn block(&mut self, _: &Block) {
//!         self.0 += 1;
//!     }
//! }
//!
//! let options = Options { arguments: vec!["sort".into()], streams: Streams::inherit(), ..Options::default() };
//! let (core, linux) = Linux::load("programs/bin/sort.elf".as_ref(), options)?;
//! let mut hart = Hart::new(core, linux);
//! let mut count = Count(0);
//! let stop = hart.run(u64::MAX, &mut count);
//! println!("{stop:?}: {} instructions in {} blocks", hart.core.instret, count.0);
//! # Ok::<(), tracewright_hart::linux::LoadError>(())
//! ```
//!
//! The crate has no features; [`linux`] needs a Unix host. To trace a program under QEMU instead, use
//! `tracewright-qemu`; to encode what is executed, use the encoders of a protocol, such as `tracewright-etrace`.
//!
//! Private modules: `hart` (the execution loop), `cache` (decoded code), `execute`, `integer`, `float`, `access` and
//! `csr` (instructions), `machine` and `sink` (the traits), `state` and `tlb` (registers, page locations), `retired` and
//! `blocks` (single instructions to blocks and back), `control` (trace control), `first_error` (output).

mod access;
pub mod bare;
mod blocks;
mod cache;
mod control;
mod csr;
mod execute;
mod first_error;
mod float;
mod hart;
mod integer;
#[cfg(target_os = "linux")]
pub mod linux;
pub mod log;
mod machine;
pub mod memory;
mod retired;
mod sink;
mod state;
pub mod timing;
mod tlb;

pub use blocks::Blocks;
pub use control::{Controlled, Events, Moment};
pub use first_error::FirstErrorWriter;
pub use hart::Hart;
pub use machine::{Exception, Machine, Served, Stop, cause};
pub use memory::Memory;
pub use retired::{Retired, Retirements};
pub use sink::{Access, HartSink, Privilege, RegisterWrite, Trap};
pub use state::{Core, X0_SINK};
pub use tlb::Tlb;
