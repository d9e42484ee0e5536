//! Decodes the buffers of a capture to packets and elements on all cores: one pipeline for every packing and every protocol.
//!
//! An [`Engine`] decodes a buffer of a capture ([`Request`]) and passes its elements to a [`Consumer`], whose result comes back in
//! [`Decoded`], beside a [`Tally`] and the [`Problem`]s that were found. A [`PacketRequest`] stops at packets: it passes them to a
//! [`Visitor`], or counts them.
//!
//! A protocol implements [`Syntax`] (packets), [`Protocol`] (elements) and [`SourceKind`](tracewright_input::SourceKind) (how
//! captures describe a source). E-Trace and the protocols of CoreSight are built in; [`register`] adds others.
//!
//! * `reader`: the bytes of a buffer; `incoming`: these bytes without their packing, one lane for each source; `router`: packets of
//!   sources that share bytes, parsed once; `lane`: a window of a source's bytes.
//! * `syntax`: the packet level of a protocol; `packets`: all packets of a buffer, shown or counted (`counts`).
//! * `protocol`: the decoding level of a protocol; `stream`: a parser and a decoder as one; `coresight`, `etrace`: the protocols.
//! * `sink`: takes elements from decoders in batches; `delivery`: passes batches to a consumer; `consumer`: the consumer's interface.
//! * `survey`: what a raw file may be.
//! * `segment`: decodes a part of a stream; `pipeline`: decodes all streams of a buffer; `decode`: from a request to its result;
//!   `erased`: consumers with their types hidden, so that these three are compiled once.

mod consumer;
mod coresight;
mod counts;
mod decode;
mod delivery;
mod erased;
mod etrace;
mod incoming;
mod joined;
mod lane;
mod limits;
mod line;
mod missing;
mod ntrace;
mod packets;
mod pipeline;
mod place;
mod problem;
mod protocol;
mod reader;
mod router;
mod segment;
mod sink;
mod source;
mod stream;
mod survey;
mod syntax;
mod tacit;
mod tally;

pub use consumer::{At, Consumer, WantedBlocks};
pub use counts::{Counted, Counts, Distances};
pub use decode::{Decoded, Doubt, Engine, Request, SourceTally};
pub use incoming::is_damage;
pub use limits::{Limit, Limits, Range};
pub use line::Line;
pub use missing::{MissingCode, MissingRange};
pub use ntrace::source as ntrace;
pub use packets::{AnyPacket, Found, PacketRequest, PacketsRead, Visitor};
pub use place::Place;
pub use problem::{CannotDecode, Error, Fault, Named, Problem};
pub use protocol::{Decoder, Options, Protocol, register};
pub use reader::{BufferReader, Progress};
pub use sink::Mode;
pub use source::Source;
pub use stream::Feed;
pub use survey::{Evidence, Fit, FoundSource, Speaks, Survey, likely_ntrace, survey};
pub use syntax::{Halves, Kind, MOST_KINDS, Role, SkippedRun, Skips, Syntax};
pub use tacit::source as tacit;
pub use tally::{Reason, Strangers, Tally};
pub use tracewright_core::stream::{PacketSink, Run};
pub use tracewright_frames::Lost;
