//! Integration tests, linked as one program.

mod nexrv;
mod spec;
mod support;
