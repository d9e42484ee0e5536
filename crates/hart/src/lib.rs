//! A RISC-V machine that runs real programs and reports every instruction that retires.

mod access;
pub mod bare;
mod blocks;
mod cache;
mod csr;
mod execute;
mod float;
mod hart;
mod integer;
#[cfg(unix)]
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
pub use hart::Hart;
pub use machine::{Exception, Machine, Served, Stop, cause};
pub use memory::Memory;
pub use retired::{Retired, Retirements};
pub use sink::{Access, Privilege, Sink, Trap};
pub use state::{Core, X0_SINK};
pub use tlb::Tlb;
