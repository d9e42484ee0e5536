//! The timing model against cycles worked out by hand, and against twins that are as plain as can be.

mod by_hand;
mod config;
mod program;
mod random;
mod twin;
