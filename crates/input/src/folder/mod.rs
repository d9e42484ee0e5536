//! Our own capture folder: `capture.toml`, which describes what was traced and how, beside the trace bytes as
//! hardware wrote them and the programs that ran.
//!
//! ```toml
//! format = 1
//! description = "sort.elf"
//! checksums = "checksums.toml" # the files' lengths and checksums; of captures that lack it, nothing is checked
//! finished = true # false while it is recorded, and for ever if the recorder was killed
//!
//! [[source]]
//! name = "hart0"
//! protocol = "etrace"
//! id = 0
//! isa = "rv64"
//! handlers = ["M:80000004"] # where traps go, if packets do not tell (implicit_exception)
//! delta = "delta.bin" # if there is one: retirement-delta trace, the cycle of each instruction
//! encapsulation = { kind = "standard", source_bits = 0, timestamp_bytes = 0, type_bits = 0 }
//! params = { iaddress_width = 64, iaddress_lsb = 1 } # and more, under the specification's names
//! options = { implicit_return = true }
//!
//! [[buffer]]
//! name = "trace"
//! file = "trace.bin"
//! sources = ["hart0"]
//!
//! [[image]]
//! file = "sort.elf" # where the ELF file says; one that was moved has an `address`
//!
//! [[image]]
//! file = "code.bin" # raw bytes
//! address = 0x1000
//! offset = 0x0 # in the file; with `length`, if not all of it is meant
//! length = 0x14
//! ```
//!
//! File names are relative to the folder, so it can be moved.

pub(crate) mod checksums;
pub(crate) mod mappings;
mod read;
mod value;
mod write;

pub use checksums::{CHECKSUMS_FILE, Checksums, FileSums};
pub(crate) use read::open;
pub use write::CaptureWriter;

/// File that makes a folder a capture.
pub const CAPTURE_FILE: &str = "capture.toml";

/// Version of the format that this library reads and writes.
const FORMAT: u64 = 1;
