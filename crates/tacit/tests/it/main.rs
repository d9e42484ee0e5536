//! Integration tests, linked as one program.

mod meaning;
mod naive;
mod round_trip;
mod spec;
mod support;
