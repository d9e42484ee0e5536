//! What any Linux program executes, recorded under stock QEMU.
//!
//! * [`plugin`]: a TCG plugin (`libtracewright_qemu.so`), which QEMU loads: it writes the retirement log while a program runs.
//! * [`mod@format`]: that log, as `book/src/reference/retirement-log.md` tells it: what writer and reader share.
//! * [`live`]: the log while it is written: what plugin and recorder say to each other.
//! * [`read`]: the log back into blocks, traps and accesses, thread by thread, from a file or while it is written.
//!
//! QEMU runs programs of Linux on Linux alone, so `plugin` and `live` exist there only. Logs are read everywhere.
//!
//! # Files
//!
//! * `plugin`: `install` (entry), `ffi`, `arguments`, `places`, `translate`, `instruction_set`, `definitions`, `maps`,
//!   `callbacks` and `thread` (the hot path), `output`, `count_page`, `system_calls`, `state`.
//! * `live`: `protocol`, `receiver` (entry), `folder`, `connection`, `slots`, `broken`. `read`: `log` (entry),
//!   `definitions`, `thread`, `node`, `settle`, `code`, `trapping`, `damage`.

pub mod format;
#[cfg(target_os = "linux")]
pub mod live;
#[cfg(target_os = "linux")]
pub mod plugin;
pub mod read;
