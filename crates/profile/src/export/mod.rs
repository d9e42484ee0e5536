//! Profiles in other tools' formats, one module each; [`Format`] finds them by name. Most functions take a
//! [`Profile`](crate::Profile) and, for names and lines, the [`Program`](crate::Program) that ran.

pub mod autofdo;
pub mod bolt;
pub mod callgrind;
pub mod cobertura;
pub mod fdata;
pub mod flamegraph;
pub mod folded;
mod format;
pub mod gcov;
pub mod lcov;
pub mod llvm;
pub mod llvm_binary;
pub mod llvm_contexts;
pub mod llvm_coverage;
pub mod pprof;
pub mod profgen;
pub mod propeller;
pub mod protobuf;
pub mod ranges;
pub mod samples;

pub use format::{ExportError, ExportRemark, Format};
