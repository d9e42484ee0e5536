//! Which code was where: the memory of a traced program, its symbols and its source lines.
//!
//! An [`Image`] is made of raw bytes and of ELF files, each at an address in one or more memory spaces, and is
//! read-only from then on. It does no input or output: callers give [`Bytes`], from a memory map or a vector. Reading
//! is a search and a slice; no bytes are copied. Symbols and lines cost nothing until they are asked for.
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
//! Any bytes are good input: an ELF file gives an [`Error`] or an image that works, and what is odd about it is said in
//! [`Image::remarks`]. The very last address, 2^64 - 1, can hold no byte.
//!
//! # Files
//!
//! * `builder`, `image` (entry), `pieces` (overlapping ranges made disjoint), `spaces` (a table per set of spaces),
//!   `elf` (also relocation of kernel modules), `symbols`, `lines`, `code` (functions of a file, whether they ran or
//!   not), `facts`, `xz`, `remark`.

mod builder;
mod bytes;
mod code;
mod elf;
mod error;
mod facts;
mod file;
mod image;
mod lines;
mod linked;
mod pieces;
mod processes;
mod region;
mod remark;
mod spaces;
mod symbols;
mod xz;

pub use builder::{Builder, FileId};
pub use bytes::Bytes;
pub use code::{CodeRange, Function};
pub use elf::Place;
pub use error::{Error, Reason};
pub use facts::Facts;
pub use image::{Image, UNKNOWN_TARGET};
pub use linked::{CodeSegment, FileRef};
pub use processes::{Moment, Processes};
pub use region::{Kind, RegionRef, SectionRef};
pub use remark::{Overlap, Remark};
pub use symbols::{Frame, Linkage, SourceLine, Symbol, Symbols};
pub use xz::{is_xz, unpacked_xz};
