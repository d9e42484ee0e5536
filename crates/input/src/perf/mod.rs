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
pub use programs::{RecordedPrograms, find_program};
pub use tracewright_image::Moment;

/// What was compressed with zstd.
///
/// # Errors
/// When it is damaged, in words.
pub fn unpacked_zstd(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut all = Vec::new();
    unpack::unpack(&[bytes], |part| {
        all.extend_from_slice(part);
        true
    })?;
    Ok(all)
}
