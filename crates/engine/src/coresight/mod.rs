//! The protocols of CoreSight.

mod etm;
mod etm3;
mod module;
mod ptm;

pub use etm::Etm;
pub use etm3::Etm3;
pub use module::CoreSight;
pub use ptm::Ptm;
