//! Integration tests, in one binary so that they are linked once.

mod bare;
mod data;
mod debian;
mod hostile;
mod linux;
mod logs;
mod own_log;
mod qemu;
mod real_logs;
mod registers;
mod spike;
mod support;
mod timing;
