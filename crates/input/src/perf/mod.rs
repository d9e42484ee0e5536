//! Recordings of Linux perf and of Android's simpleperf (`perf.data`) with CoreSight or RISC-V trace.
//!
//! The file is mapped; trace bytes are not copied.
//!
//! * `open.rs` turns a recording into a capture.
//! * `recording.rs` collects the content of all records: `header.rs` finds the parts of the file, `walk.rs`
//!   the records, `record.rs` reads them with their time and CPU, `unpack.rs` decompresses them;
//!   `features.rs` reads features, and `time.rs` converts timestamps to the recorder's clock.
//! * `units.rs` (CoreSight), `riscv.rs` and `buffers.rs` make sources and buffers; `pieces.rs` finds the trace bytes, and `repeats.rs`
//!   those that were saved twice.
//! * `jit.rs` reads the code of compilers at run time, `map_names.rs` names without code, `bpf.rs` and `kernel.rs` that of the kernel; `made.rs` and
//!   `dwarf.rs` make ELF files of it.
//! * `timeline.rs` tracks the mappings of processes over time, `programs.rs` makes an image of them, and
//!   `search.rs` finds the files, packed or not.

mod bpf;
mod buffers;
mod dwarf;
mod faults;
mod features;
mod header;
mod jit;
mod kernel;
mod made;
mod map_names;
mod open;
mod pieces;
mod programs;
mod record;
mod recording;
mod repeats;
mod riscv;
mod search;
mod time;
mod timeline;
mod units;
mod unpack;
mod walk;

pub use open::{branch_list, is_recording, open, open_with, unpacked};
pub use programs::RecordedPrograms;
pub use search::{BinaryNotFound, Found, find_binary};
pub use time::TimeConversion;
pub use tracewright_image::Moment;
pub use unpack::{ZstdError, unpacked_zstd};
