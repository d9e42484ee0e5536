//! The tests of this crate that use it as others do: one program, so that it is linked once.

mod anything;
mod branch_list;
mod calls;
mod executed;
mod laws;
mod loops;
mod paths;
mod random;
mod slices;
mod store;
