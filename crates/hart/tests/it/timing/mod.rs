//! The timing model compared with cycles worked out by hand, and with naive twins.

mod config;
mod front;
mod memory;
mod pipeline;
#[cfg(unix)]
mod planted;
mod program;
mod random;
mod twin;
#[cfg(unix)]
mod whole;
