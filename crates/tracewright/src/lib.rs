//! Read, explain and make processor traces.
//!
//! A processor's trace unit reports, heavily compressed, every branch that the core took. From that and the program's binaries,
//! tracewright rebuilds every executed instruction. This crate is its library: everything that the command `tracewright` does, a
//! program can do through it.
//!
//! # Open a capture
//!
//! [`Trace::open`] opens a capture folder, an Arm trace snapshot, a recording of perf or simpleperf with its programs, or a log of
//! tracewright.
//! [`OpenOptions`] opens raw trace files, adds programs, and names folders to search for symbols.
//!
//! ```
//! use tracewright::Trace;
//!
//! # fn main() -> Result<(), tracewright::Error> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/hello");
//! let trace = Trace::open(path)?;
//! for instruction in trace.instructions().take(3) {
//!     let (address, text) = (instruction.value.address, instruction.value.text());
//!     println!("{address:#x} {text}");
//! }
//!
//! let profile = trace.profile()?;
//! assert!(profile.is_complete());
//! assert_eq!(profile.tally.instructions, profile.value.profile.instructions());
//! # Ok(())
//! # }
//! ```
//!
//! # Ask it
//!
//! | method | result |
//! |---|---|
//! | [`packets`](Trace::packets), [`elements`](Trace::elements), [`blocks`](Trace::blocks), [`instructions`](Trace::instructions) | iterators, in the order of the file |
//! | [`elements_by_time`](Trace::elements_by_time) | the elements of all sources, merged by their timestamps |
//! | [`last`](Trace::last), [`around`](Trace::around) | the last instructions of each source, or those around an offset |
//! | [`calls`](Trace::calls) | functions entered and left, and the call stack at the end of each source |
//! | [`channel_text`](Trace::channel_text) | the text that software wrote to stimulus ports and channels |
//! | [`profile`](Trace::profile) | how often each block ran; [`export`] writes it for compilers and viewers |
//! | [`coverage`](Trace::coverage) | functions, lines and branches that ran, and that did not |
//! | [`stalls`](Trace::stalls) | where the cycles went |
//! | [`exceptions`](Trace::exceptions) | how often exceptions came, how long they took, and how far apart they were |
//! | [`check`](Trace::check) | whether the trace and a log report the same execution |
//! | [`decode`](Trace::decode) | the output of a [`Consumer`] of your own, which takes elements on all cores |
//!
//! Methods such as [`source`](Trace::source), [`range`](Trace::range) and [`jobs`](Trace::jobs) choose a part of the trace, and how
//! it is decoded.
//!
//! # Make a capture
//!
//! The module [`capture`] runs a program on a RISC-V machine or under QEMU, or reads a log, and encodes what was executed: see the
//! examples `record_stalls` and `encode_csv`.
//!
//! # What can go wrong
//!
//! Lost trace, missing programs and damaged files are normal. They come back as values: [`Trace::problems`] for the capture, and
//! [`Outcome`] beside each result. [`Outcome::is_complete`] returns whether nothing is missing. An iterator's `finish`
//! returns the outcome of what it has read. An [`Error`] means that there is no result. Methods that count fail if the program does not
//! explain the trace: they would count what did not run. Nothing is printed, and progress is a callback ([`Trace::progress`]).
//!
//! # Levels below
//!
//! This crate is a facade. The crates below it can be used alone: `tracewright-engine` decodes buffers on all cores and takes further
//! protocols, `tracewright-etm` and `tracewright-etrace` are protocols without files or threads, `tracewright-profile` analyses
//! blocks from anywhere.

mod advice;
mod ahead;
mod by_time;
pub mod calls;
pub mod channel_text;
#[cfg(feature = "capture")]
pub mod check;
mod clocks;
pub mod compare;
#[cfg(feature = "capture")]
pub mod conform;
pub mod csv;
pub mod disassembly;
mod error;
pub mod escape;
mod exceptions;
mod excerpt;
mod file_kind;
mod filter;
pub mod glance;
pub mod listing;
#[cfg(feature = "capture")]
pub mod log;
mod missing;
pub mod names;
#[cfg(feature = "capture")]
pub mod no_instructions;
mod open;
pub mod opencsd;
mod outcome;
pub mod print;
pub mod profile;
mod pull;
pub mod registers;
mod source_files;
pub mod stalls;
pub mod survey;
pub mod targets;
mod text_cache;
mod thread_names;
pub mod timeline;
mod totals;
mod trace;
pub mod words;
mod wrap;

#[cfg(feature = "capture")]
pub use tracewright_capture as capture;
pub use tracewright_core::{
    Block, Class, Context, Element, Ended, Exception, Flow, GapReason, Isa, MemorySpace, Mismatch, Role,
};
pub use tracewright_engine::{
    At, Consumer, Engine, Found, Limits, Options, Problem, Source, Tally, Visitor, WantedBlocks,
};
pub use tracewright_flow::{BlockCounts, Where};
#[cfg(feature = "capture")]
pub use tracewright_hart::timing;
pub use tracewright_image::Image;
pub use tracewright_input::Problem as CaptureProblem;
pub use tracewright_input::{Buffer, Capture, ImageFile, Packing, RawSource, RawSourceError};
pub use tracewright_profile::{Named, PlaceError, PlaceNames, Profile, Program, Window, coverage, export};

pub use crate::advice::{advice, question};
pub use crate::by_time::{ElementsByTime, LastByTime, TimedBuffer, TimedElement};
pub use crate::clocks::{ClockEnd, Clocks, SourceClock, has_timestamps};
pub use crate::error::Error;
pub use crate::exceptions::{ExceptionMeter, ExceptionRow, ExceptionState, SourceExceptions, ThreadRow};
pub use crate::excerpt::{Excerpt, ExcerptOptions, Listed};
pub use crate::file_kind::FileKind;
pub use crate::missing::{MissingPlace, Nearest, missing_places};
pub use crate::open::OpenOptions;
pub use crate::outcome::{Diagnostic, Outcome};
pub use crate::pull::{Blocks, Elements, Instruction, Instructions, Packet, Packets, Traced};
pub use crate::source_files::SourceFiles;
pub use crate::stalls::{SourceStalls, StallMeter, StallState};
pub use crate::thread_names::ThreadNames;
pub use crate::totals::Totals;
pub use crate::trace::{ProgramProfile, Trace};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../book/src/library.md")]
struct Documents;
