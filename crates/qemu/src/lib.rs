//! Records what a Linux program executes under stock QEMU, and reads the recording.
//!
//! QEMU loads the [`plugin`], which writes a retirement log while the program runs. [`read`] converts the log to blocks,
//! traps and accesses for a [`HartSink`](tracewright_hart::HartSink), thread by thread, from a file or while it is written.
//!
//! ```no_run
//! use tracewright_core::Block;
//! use tracewright_hart::HartSink;
//! use tracewright_qemu::read::Log;
//!
//! /// Counts instructions.
//! struct Count(u64);
//!
//! impl HartSink for Count {
//!     fn block(&mut self, block: &Block) {
//!         self.0 += u64::from(block.count);
//!     }
//! }
//!
//! // qemu-aarch64 -plugin libtracewright_qemu.so,log=program.log program
//! let mut log = Log::open("program.log".as_ref())?;
//! for thread in log.threads().collect::<Vec<_>>() {
//!     let mut count = Count(0);
//!     log.read(thread, &mut count)?;
//!     println!("thread {thread}: {} instructions", count.0);
//! }
//! # Ok::<(), tracewright_qemu::read::Error>(())
//! ```
//!
//! * [`plugin`]: a TCG plugin (`libtracewright_qemu.so`). It calls C functions of QEMU, and so uses `unsafe`.
//! * [`mod@format`]: the retirement log (`book/src/reference/retirement-log.md`), shared by writer and reader.
//! * [`live`]: the log while it is written, and the protocol between plugin and recorder.
//! * [`read`]: the reader.
//!
//! QEMU runs programs of Linux on Linux alone, so `plugin` and `live` exist there only. Logs are read everywhere. To run RISC-V programs without QEMU, deterministically, use
//! `tracewright-hart`.

pub mod format;
#[cfg(target_os = "linux")]
pub mod live;
#[cfg(target_os = "linux")]
pub mod plugin;
pub mod read;
