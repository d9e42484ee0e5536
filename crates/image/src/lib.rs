//! Memory of a traced program, with its symbols and source lines.
//!
//! Input are raw bytes and ELF files, each at an address in one or more memory spaces. A [`Builder`] collects
//! them and makes an [`Image`], which is read-only and can be shared between threads. The image returns the
//! bytes, regions, symbols and source lines at an address.
//!
//! The crate does no input or output: callers pass [`Bytes`] from a memory map or a vector. A lookup is a
//! binary search and copies no bytes. Symbols and lines are read on the first query.
//!
//! ```
//! use tracewright_core::MemorySpace;
//! use tracewright_image::{Bytes, Image};
//!
//! let mut builder = Image::builder();
//! let nop_ret = vec![0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6];
//! builder.raw("kernel_dump.bin", Bytes::from(nop_ret), 0x8000, MemorySpace::EL1N)?;
//! let image = builder.build();
//!
//! assert_eq!(image.read(0x8004, MemorySpace::EL1N), [0xc0, 0x03, 0x5f, 0xd6]);
//! assert!(image.read(0x8008, MemorySpace::EL1N).is_empty());
//! assert!(image.read(0x8004, MemorySpace::EL3).is_empty());
//! let region = image.region(0x8004, MemorySpace::EL1N).unwrap();
//! assert_eq!((region.name(), region.range()), ("kernel_dump.bin", 0x8000..0x8008));
//! # Ok::<(), tracewright_image::Error>(())
//! ```
//!
//! Any bytes are valid input: an ELF file gives an [`Error`] or a working image, whose oddities are listed by
//! [`Image::remarks`]. The very last address, 2^64 - 1, cannot hold a byte.
//!
//! The crate has no features. To collect the files of a capture, use `tracewright-input`. To decode
//! instructions, use `tracewright-isa`; to walk through the code, `tracewright-flow`.

mod block_map;
mod builder;
mod bytes;
mod elf;
mod error;
mod file;
mod halves;
mod image;
mod lines;
mod linked;
mod pieces;
mod processes;
mod region;
mod symbols;
mod xz;

pub use block_map::{BlockMapError, MappedBlock, MappedFunction};
pub use builder::{Builder, FileId};
pub use bytes::Bytes;
pub use elf::{Facts, Place};
pub use error::{Error, Overlap, Reason, Remark};
pub use halves::Halves;
pub use image::{Image, UNKNOWN_TARGET};
pub use linked::{CodeRange, CodeSegment, FileRef, Function};
pub use processes::{Moment, Processes};
pub use region::{Kind, RegionRef, SectionRef};
pub use symbols::{Frame, Linkage, SourceLine, Symbol, Symbols};
pub use xz::{XzError, is_xz, unpacked_xz};
