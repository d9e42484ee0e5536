//! The protocols of `tracewright-coresight`.

mod etm3;
mod ptm;

pub use etm3::Etm3;
pub use ptm::Ptm;
