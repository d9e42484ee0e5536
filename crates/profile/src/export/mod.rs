//! Profiles as others read them: a file each. Every one takes a [`Profile`](crate::Profile) and, where it needs names or lines, the
//! [`Program`](crate::Program) that ran.

pub mod autofdo;
pub mod bolt;
pub mod callgrind;
pub mod fdata;
pub mod flamegraph;
pub mod folded;
pub mod gcov;
pub mod lcov;
pub mod llvm;
pub mod llvm_binary;
pub mod pprof;
pub mod profgen;
pub mod protobuf;
pub mod ranges;
pub mod samples;
mod summary;
