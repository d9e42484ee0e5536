//! Captures on disk: reads the folder or file that a tool or debugger left, and returns what a decoder needs
//! to know.
//!
//! A [`Capture`] lists the trace buffers, the sources that wrote to them with their configuration, the traced
//! cores, and the contents of memory. [`Capture::open`] reads three forms:
//!
//! * the Arm **trace snapshot**: a folder with `snapshot.ini`, a file for each device, `trace.ini`, and
//!   binary files with memory and trace ([`Snapshot::open`], [`SnapshotWriter`]);
//! * our own **capture folder**: a `capture.toml`, trace bytes as hardware wrote them, and the programs
//!   ([`folder`], [`CaptureWriter`]);
//! * recordings of **perf** and simpleperf ([`perf`]).
//!
//! [`Capture::raw`] takes a trace file that does not describe itself. [`Capture::image`] builds the image of
//! the program that ran.
//!
//! Captures come from many tools and are often edited by hand, so a fault does not stop the reading. The
//! result has all that could be read, and a list of [`Problem`]s, each with file, line and what to do. Input
//! is not trusted: any bytes are accepted, and memory is bounded. The files that a snapshot names may be
//! anywhere. Trace bytes are neither loaded nor decoded here.
//!
//! ```
//! use tracewright_input::snapshot::Protocol;
//! use tracewright_input::{MemorySpace, Packing, Snapshot, SnapshotWriter};
//!
//! # fn main() -> Result<(), tracewright_input::Problem> {
//! let dir = std::env::temp_dir().join(format!("tracewright-doc-{}", std::process::id()));
//! let mut writer = SnapshotWriter::create(&dir)?;
//! let core = writer.core("cpu_0", "Cortex-A53", &[])?;
//! let etm = writer.source("ETM_0", "ETM4", &[("TRCTRACEIDR", 0x10)])?;
//! writer.dump(core, 0x8000_0000, MemorySpace::ANY, &[0x1f, 0x20, 0x03, 0xd5][..])?;
//! let buffer = writer.buffer("ETB_0", Packing::Source, &[0x04][..])?;
//! writer.connect(etm, buffer, Some(core))?;
//! writer.finish()?;
//!
//! let snapshot = Snapshot::open(&dir)?;
//! let source = snapshot.buffers[0].sources[0];
//! assert_eq!(snapshot.devices[source.device].protocol(), Some(Protocol::Etm4));
//! assert_eq!(snapshot.devices[source.device].register("TRCTRACEIDR"), Some(0x10));
//! assert_eq!(source.core, Some(core));
//! assert_eq!(snapshot.devices[core].dumps[0].length, 4);
//! assert!(snapshot.problems.is_empty());
//! # std::fs::remove_dir_all(&dir).ok();
//! # Ok(())
//! # }
//! ```
//!
//! The crate has no features. To decode the trace of a capture, use `tracewright`, or `tracewright-etm` and
//! `tracewright-etrace` directly.

mod capture;
pub mod compressed;
mod coresight;
mod debug_file;
pub mod debuginfod;
pub mod etrace;
pub mod file;
pub mod folder;
pub mod ini;
mod mapping;
mod ntrace;
pub mod output;
mod packing;
pub mod perf;
mod preset;
mod problem;
mod program;
mod raw;
mod registry;
mod ring;
pub mod snapshot;
mod source;
mod tacit;

pub use capture::{Buffer, Capture, Packed, Piece, Program};
pub use etrace::EtraceSource;
pub use folder::{CaptureWriter, Checksums, FileSums};
pub use mapping::{Mapping, Process, ProcessThread, programs as mapped_programs};
pub use ntrace::{NtraceSource, Sram};
pub use output::{OutputFile, OutputFolder, OutputKind, Replace};
pub use packing::Packing;
pub use problem::{Problem, Severity, Subject};
pub use program::{ImageFile, ImageFileError, build_id, map_file};
pub use raw::{RawEtm, RawSource, RawSourceError};
pub use registry::{Entry, SourceKind, SourceParams, WrongParam, register};
pub use ring::{Ring, TooShort};
pub use snapshot::{Architecture, CoreKind, CoreProfile, Dump, MemorySpace, Snapshot, SnapshotWriter};
pub use source::{Protocol, Source};
pub use tacit::TacitSource;
