//! Integration tests, linked as one program.

mod encoding;
mod meaning;
mod nexrv;
mod round_trip;
mod spec;
mod support;
