//! The protocols of `tracewright-coresight`.

mod etm3;

pub use etm3::Etm3;
