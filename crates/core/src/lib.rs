//! The vocabulary every tracewright crate shares.
//!
//! Today that is little: the identifier a trace source carries on the trace bus. Blocks, elements and
//! gaps join it when the first decoder needs them.
#![no_std]

mod trace_id;

pub use trace_id::TraceId;
