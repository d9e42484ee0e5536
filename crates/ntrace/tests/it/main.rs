//! Integration tests, linked as one program.

mod nexrv;
mod round_trip;
mod spec;
mod support;
