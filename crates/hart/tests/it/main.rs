//! The tests of this crate that use it as others do: one program, so that it is linked once.

mod bare;
mod data;
mod debian;
mod hostile;
mod linux;
mod logs;
mod own_log;
mod qemu;
mod real_logs;
mod spike;
mod support;
mod timing;
