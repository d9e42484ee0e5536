//! Profiles as others read them: a file each. Every one takes a [`Profile`](crate::Profile) and, where it needs names or lines, the
//! [`Program`](crate::Program) that ran.

pub mod autofdo;
pub mod lcov;
