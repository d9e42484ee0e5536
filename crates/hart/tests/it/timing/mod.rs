//! The timing model against cycles worked out by hand, and against twins that are as plain as can be.

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
