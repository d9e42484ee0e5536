//! Tests of the engine.

mod shared;
mod toy;
mod verbs;
