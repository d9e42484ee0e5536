//! E-Trace: the reference flow's captures, and random encoders and packets.

mod captures;
mod encode;
mod random;
mod rows;
mod told;

pub use captures::{Flow, flows, mixes, text};
pub use encode::{encode, entry};
pub use random::{any_config, any_options, any_packet, any_params, any_support};
pub use rows::{c_codec, te_inst};
pub use told::{Told, account, read};
