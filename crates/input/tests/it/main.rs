//! Integration tests, linked as one program.

#[path = "../../../image/tests/it/support/mod.rs"]
mod elf;

mod captures;
mod debuginfod;
mod folder;
mod mappings;
mod opening;
mod output;
mod perf;
mod perf_live;
mod perf_made;
mod perf_programs;
mod perf_riscv;
mod perf_run_time;
mod problems;
mod reading;
mod support;
mod writing;
