//! Profiles in other tools' formats, one module each. Most functions take a [`Profile`](crate::Profile) and, for names
//! and lines, the [`Program`](crate::Program) that ran.

pub mod autofdo;
pub mod bolt;
pub mod callgrind;
pub mod cobertura;
pub mod fdata;
pub mod flamegraph;
pub mod folded;
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
