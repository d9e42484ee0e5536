//! The tests of this crate that use it as others do: one program, so that it is linked once.

mod debian;
mod events;
mod hart;
mod oracle;
mod reading;
mod support;
