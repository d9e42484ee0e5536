//! The protocols of CoreSight.

mod etm;
mod etm3;
mod itm;
mod module;
mod mtb;
mod ptm;
mod stm;

pub use etm::Etm;
pub use etm3::Etm3;
pub use itm::Itm;
pub use module::CoreSight;
pub use mtb::Mtb;
pub use ptm::Ptm;
pub use stm::Stm;
