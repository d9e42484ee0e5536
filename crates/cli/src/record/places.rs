//! Addresses as people know them.

use std::path::Path;

use tracewright_core::MemorySpace;
use tracewright_hart::linux::Mapped;
use tracewright_image::{Bytes, Image};
use tracewright_input::ImageFile;
use tracewright_input::file::{MAX_PROGRAM, first_bytes, read_plain};

use super::watch::Watch;
use crate::output::say;
use tracewright::names;

/// The program's files, for their symbols.
pub struct Places(Image);

/// Those of a program under Linux: each file that was mapped, where its first byte was. All together, no more is read than of one
/// program.
pub fn linux(mapped: &[Mapped]) -> Places {
    let mut builder = Image::builder();
    let mut done: Vec<&Path> = Vec::new();
    let mut left = MAX_PROGRAM;
    for map in mapped.iter().filter(|map| map.offset == 0) {
        if done.contains(&map.path.as_path()) {
            continue;
        }
        done.push(&map.path);
        if !is_elf(&map.path) {
            continue;
        }
        if let Ok(bytes) = read_plain(&map.path, left) {
            left -= bytes.len() as u64;
            // A file without symbols is still a name. What cannot be read has none.
            let _ = builder.elf(
                &map.path.display().to_string(),
                Bytes::new(bytes),
                Some(map.address),
                MemorySpace::ANY,
            );
        }
    }
    Places(builder.build())
}

/// The program files that a program under Linux has mapped: each with where its first byte was.
pub fn programs(mapped: &[Mapped]) -> Vec<ImageFile> {
    let mut programs: Vec<ImageFile> = Vec::new();
    for map in mapped.iter().filter(|map| map.offset == 0) {
        let program = ImageFile { path: map.path.clone(), at: Some(map.address) };
        if !programs.contains(&program) && is_elf(&map.path) {
            programs.push(program);
        }
    }
    programs
}

/// Whether a file is a program; others are mapped for their data.
fn is_elf(path: &Path) -> bool {
    first_bytes(path) == Some(*b"\x7fELF")
}

/// That of a program without an operating system.
pub fn file(path: &Path) -> Places {
    let mut builder = Image::builder();
    if let Ok(bytes) = read_plain(path, MAX_PROGRAM) {
        let _ = builder.elf(&path.display().to_string(), Bytes::new(bytes), None, MemorySpace::ANY);
    }
    Places(builder.build())
}

impl Places {
    /// Of a program that nobody named.
    pub fn none() -> Self {
        Self(Image::builder().build())
    }

    /// The program's code.
    pub fn image(&self) -> &Image {
        &self.0
    }

    /// Says where execution is, and what was executed last.
    pub fn report(&self, pc: u64, watch: &Watch) {
        say(&format!("  at {pc:#x} {}", self.name(pc)));
        let mut last = watch.last().peekable();
        if last.peek().is_some() {
            say("  the last blocks, the newest at the end:");
        }
        for block in last {
            let plural = if block.count == 1 { " " } else { "s" };
            let name = self.name(block.start);
            say(&format!("  {:#12x} {:4} instruction{plural} {name}", block.start, block.count));
        }
    }

    fn name(&self, address: u64) -> String {
        names::place(&self.0, address, MemorySpace::ANY, 36)
    }
}
