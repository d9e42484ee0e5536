//! The files that a Linux program has mapped, for symbols and for the capture.

use std::collections::HashSet;
use std::path::Path;

use tracewright_core::MemorySpace;
use tracewright_hart::linux::Mapped;
use tracewright_image::{Bytes, Image};
use tracewright_input::ImageFile;
use tracewright_input::file::{MAX_PROGRAM, first_bytes, read_plain};

/// Returns the image of a Linux program: each mapped file at the address of its first byte. All files together may be no larger than one
/// program.
pub(super) fn linux(mapped: &[Mapped]) -> Image {
    let mut builder = Image::builder();
    let mut left = MAX_PROGRAM;
    let mut done = HashSet::new();
    for ImageFile { path, at } in programs(mapped) {
        if done.insert(path.clone())
            && let Ok(bytes) = read_plain(&path, left)
        {
            left -= bytes.len() as u64;
            // A file without symbols still gives a name; one that cannot be read does not.
            let _ = builder.elf(&path.display().to_string(), Bytes::new(bytes), at, MemorySpace::ANY);
        }
    }
    builder.build()
}

/// Returns the program files that a Linux program has mapped, each with the address of its first byte.
pub(super) fn programs(mapped: &[Mapped]) -> Vec<ImageFile> {
    let mut programs: Vec<ImageFile> = Vec::new();
    for map in mapped.iter().filter(|map| map.offset == 0) {
        let program = ImageFile { path: map.path.clone(), at: Some(map.address) };
        if !programs.contains(&program) && is_elf(&map.path) {
            programs.push(program);
        }
    }
    programs
}

/// Returns whether a file is an ELF file; others are mapped for their data.
fn is_elf(path: &Path) -> bool {
    first_bytes(path) == Some(*b"\x7fELF")
}
