//! Recordings of Linux perf and of Android's simpleperf (`perf.data`) with CoreSight trace.
//!
//! `open.rs` is the entry: a recording as a capture. `recording.rs` collects what all records tell (`header.rs`: where things are; `walk.rs`: records one
//! after another; `record.rs`: what they say; `attr.rs`: which time and CPU they end with; `unpack.rs`: compressed ones; `features.rs`; `time.rs`: from trace's timestamps to the recorder's clock). `units.rs` and `buffers.rs` make
//! sources and buffers of it, `pieces.rs` says which bytes are trace. `timeline.rs` knows who had what mapped when, `programs.rs` makes an image of that, and `search.rs` finds
//! the files (`packed_file.rs`: also compressed ones). The file is mapped; trace bytes are not copied.

mod attr;
mod buffers;
mod faults;
mod features;
mod fields;
mod header;
mod open;
mod packed_file;
mod pieces;
mod programs;
mod record;
mod recording;
mod search;
mod time;
mod timeline;
mod units;
mod unpack;
mod walk;

pub use open::{branch_list, is_recording, open, unpacked};
pub use programs::RecordedPrograms;
pub use search::{BinaryNotFound, Found, find_binary};
pub use time::TimeConversion;
pub use tracewright_image::Moment;
pub use unpack::ZstdError;

/// Unpacks zstd data.
///
/// # Errors
/// Fails if the data is damaged, or would take too much memory.
pub fn unpacked_zstd(bytes: &[u8]) -> Result<Vec<u8>, ZstdError> {
    let mut all = Vec::new();
    unpack::unpack(&[bytes], 200, |part| {
        all.extend_from_slice(part);
        true
    })?;
    Ok(all)
}
