//! RISC-V E-Trace (Efficient Trace), read and written.
//!
//! [`packet`] is syntax: te_inst payloads as values, parsed and emitted. [`stream`] is what carries them: encapsulations,
//! sources, timestamps. [`ingress`] is what a trace encoder sees of a hart, [`encode`] the encoder, `decode` its
//! reverse: packets and the program to what ran. [`data`] is data trace (te_data).
//!
//! Nothing can be read without knowing the encoder's [`Params`]: how wide addresses and contexts are, which tables it has.
//! Names are those of "Efficient Trace for RISC-V", without `_p`.

mod attributes;
mod bits;
pub mod data;
#[cfg(feature = "decode")]
pub mod decode;
pub mod encode;
pub mod ingress;
mod options;
pub mod packet;
mod params;
mod predictor;
mod returns;
pub mod stream;
mod targets;

pub use attributes::{Attribute, ParamsError};
pub use options::{OptionField, Options};
pub use params::{Params, SupportLayout};
pub use predictor::Predictor;
pub use returns::ReturnStack;
pub use targets::JumpTargets;
