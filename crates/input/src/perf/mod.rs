//! Recordings of Linux perf and of Android's simpleperf (`perf.data`) with CoreSight trace.
//!
//! `header.rs` (where things are), `walk.rs` (records one after another), `record.rs` (what they say), `attr.rs` (which time and CPU
//! they end with), `unpack.rs` (compressed ones), `features.rs`, `units.rs` (trace units), `recording.rs` (entry: all of it,
//! collected). The file is mapped; trace bytes are not copied.

mod attr;
mod faults;
mod features;
mod fields;
mod header;
mod open;
mod pieces;
mod programs;
mod protobuf;
mod record;
mod recording;
mod search;
mod timeline;
mod units;
mod unpack;
mod walk;

pub use open::{is_recording, open, unpacked};
pub use programs::RecordedPrograms;
pub use search::find_binary;
pub use tracewright_image::Moment;
