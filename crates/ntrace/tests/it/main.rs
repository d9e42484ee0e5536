//! Integration tests, linked as one program.

mod meaning;
mod nexrv;
mod round_trip;
mod spec;
mod support;
