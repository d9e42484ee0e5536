//! RISC-V E-Trace (Efficient Trace), read and written.
//!
//! [`packet`] is syntax: te_inst payloads as values, parsed and emitted. [`stream`] is what carries them: encapsulations,
//! sources, timestamps. [`ingress`] is what a trace encoder sees of a hart, [`encode`] the encoder, `decode` its
//! reverse: packets and the program to what ran. [`data`] is data trace (te_data).
//!
//! Nothing can be read without knowing the encoder's [`Params`]: how wide addresses and contexts are, which tables it has.
//! Names are those of "Efficient Trace for RISC-V", without `_p`.
//!
//! # Files
//!
//! * `params`, `options`, `attributes` (both by name), `bits`; `predictor`, `targets`, `returns`: what encoder and
//!   decoder mirror.
//! * `packet`: `types`, `read`, `emit`, `hot`, `support`, `malformed`, `text`. `stream`: `frame` (one message),
//!   `parser` (entry), `hot`, `search`, `sources`, `sync_points`, `writer`.
//! * `ingress`: `connector` (instructions on up to eight ports), `itype`, `executed` (from blocks), `csv`.
//! * `encode`: `encoder` (entry), `step` (the short way), `blocks` (entry for executed blocks), `tell`, `branches`,
//!   `returns`, `resync`, `filter`, `port`, `config`.
//! * `decode`: `decoder` (entry), `follow` (from one reported address to the next), `trap`, `handlers`, `tell`,
//!   `paired` (with data trace), `snapshot`, `facts`, `options`.
//! * `data`: `types`, `parse`, `emit`, `text`, `history`, `encoder`, `decoder`, `companion`, `pairing`.

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
