//! RISC-V E-Trace (Efficient Trace for RISC-V), read and written.
//!
//! Two pipelines meet at the [`packet::Packet`]. Encoding turns the blocks that a hart retires into packets and
//! bytes: [`ingress`] describes retired blocks, [`encode`] chooses packets, [`stream`] writes them. Decoding
//! reverses it: [`stream`] parses bytes into messages, and `decode` follows the program from packet to packet
//! and emits the elements of [`tracewright_core`]. [`data`] is data trace, with its own packets, encoder and
//! decoder.
//!
//! Every step needs the encoder's [`Params`]: how wide addresses and contexts are, and which tables the encoder
//! has. Names are those of the specification, without `_p`. `DIFFERENCES.md` lists deviations from the
//! specification and from other implementations.
//!
//! ```
//! use tracewright_etrace::{Options, Params, packet};
//!
//! let params = Params { iaddress_lsb: 0, ..Params::default() };
//! let options = Options { full_address: true, ..Options::default() };
//! let bytes = [0x32, 0x04, 0x00, 0x00, 0x02];
//! let packet = packet::parse(&bytes, &params, &options)?;
//! assert_eq!(format!("{} {}", packet.name(), packet.details(&options)), "Address 0x8000010c");
//!
//! let mut payload = packet::PayloadBytes::default();
//! packet::emit(&packet, &params, &mut payload)?;
//! assert_eq!(payload[..], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`packet`] | te_inst packets as values: parse, emit, text |
//! | [`stream`] | encapsulations, sources and timestamps: parser and writer of messages |
//! | [`ingress`] | input of an encoder: from executed blocks, committed instructions or CSV |
//! | [`encode`] | encoder from retired blocks to packets |
//! | `decode` | decoder from messages and the program to elements |
//! | [`data`] | te_data packets, their encoder and decoder, pairing with instructions |
//!
//! The feature `decode` (on by default) enables the module of that name. Without it the crate needs neither
//! `tracewright-flow` nor `tracewright-image`.
//!
//! To open a capture of any protocol, use `tracewright-input`. For Arm traces, use `tracewright-etm`.

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
pub mod stream;
mod tables;

pub use attributes::{Attribute, ParamsError};
pub use options::{OptionField, Options};
pub use params::{Params, SupportLayout};
pub use tables::{JumpTargets, Predictor, ReturnStack};
