//! Integration tests, in one binary so that they are linked once.

mod anything;
mod branch_list;
mod calls;
mod executed;
mod laws;
mod loops;
mod paths;
mod programs;
mod random;
mod slices;
mod store;
