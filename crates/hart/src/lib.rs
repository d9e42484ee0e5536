//! A RISC-V machine that runs real programs and reports every instruction that retires.
//!
//! A [`Hart`] executes; a [`Machine`] is what surrounds it: [`linux`], as one program in user mode sees it, or [`bare`], without an
//! operating system. What is executed goes to a [`Sink`], in blocks; what the sink does not ask for (memory accesses,
//! instruction bits, cycles) is not computed. [`timing`] adds cycles by a model, [`log`] writes and reads executions, those of other simulators
//! too.
//!
//! ```no_run
//! use tracewright_core::Block;
//! use tracewright_hart::linux::{Linux, Options, Streams};
//! use tracewright_hart::{Hart, Sink};
//!
//! /// Counts blocks.
//! struct Count(u64);
//!
//! impl Sink for Count {
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
//! # Files
//!
//! * `hart` (entry), `cache` (decoded code), `execute` (`integer`, `float`, `csr`), `access`, `tlb`, `memory`, `state`,
//!   `machine` (the trait that `linux` and `bare` implement), `sink`, `retired`, `blocks`, `control`.
//! * `bare`: `csrs`, `trap`, `paging`, `pmp`, `clint`, `plic`, `uart`, `htif`, `host_files`, `semihosting`, `rom`,
//!   `load`.
//! * `linux`: `elf`, `load`, `stack`, `calls`, `numbers`, `files`, `descriptors`, `names`, `paths`, `host` (the only
//!   calls on host names), `memory`, `shared`, `time`, `process`, `threads`, `signals`.
//! * `timing`: `model` (entry), `front`, `predictor`, `targets`, `memory`, `lines`, `decoded`, `stats`, `timed`, and
//!   the settings: `config`, `presets`, `fields`, `text`.
//! * `log`: `spike`, `rvfi` (CVA6), `csv`, `qemu`, `detect`; `own` (ours: `FORMAT.md`).

mod access;
pub mod bare;
mod blocks;
mod cache;
mod control;
mod csr;
mod execute;
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
pub use hart::Hart;
pub use machine::{Exception, Machine, Served, Stop, cause};
pub use memory::Memory;
pub use retired::{Retired, Retirements};
pub use sink::{Access, Privilege, Sink, Trap};
pub use state::{Core, X0_SINK};
pub use tlb::Tlb;
