use object::elf::SHF_ALLOC;

use super::{Elf, Section, Segment};
use crate::error::Reason;

/// Smallest and largest page size with which our programs were loaded.
const PAGE: u64 = 0x1000;
const LARGEST_PAGE: u64 = 0x10000;

/// Place of an ELF file in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// The linked addresses.
    #[default]
    AsLinked,
    /// An offset from the linked addresses, with wrap-around.
    Bias(u64),
    /// The page (of 4 KiB) that contains the lowest loaded byte, as in the file's first line of
    /// `/proc/PID/maps`. For a relocatable file (a kernel module), the address of `.text`.
    Base(u64),
    /// The memory that Linux gave to a kernel module.
    Module {
        /// Address of that memory.
        start: u64,
        /// Offset of `.text` from `start`, if known. Linux loads executable sections in file order, after a
        /// jump table that it makes itself. Without this field the offset is certain only if `.text` begins a
        /// page.
        text: Option<u64>,
    },
    /// A mapping of an executable part, as in a line of `/proc/PID/maps` or an `MMAP` record of perf.
    Mapping {
        /// Address of the mapping.
        address: u64,
        /// Offset in the file of the byte at that address.
        offset: u64,
    },
}

impl From<u64> for Place {
    fn from(base: u64) -> Self {
        Self::Base(base)
    }
}

impl From<Option<u64>> for Place {
    fn from(base: Option<u64>) -> Self {
        base.map_or(Self::AsLinked, Self::Base)
    }
}

impl Place {
    /// Returns the offset from the linked addresses of `elf` to its place.
    pub(crate) fn bias(self, elf: &Elf) -> Result<u64, Reason> {
        Ok(match self {
            Self::AsLinked => 0,
            Self::Bias(bias) => bias,
            Self::Module { start, text } => start.wrapping_add(text.unwrap_or_else(|| behind(&elf.sections))),
            Self::Base(base) => {
                let lowest = elf.segments.iter().map(|segment| segment.address).min().unwrap_or_default();
                base.wrapping_sub(lowest - lowest % PAGE)
            }
            Self::Mapping { address, offset } => {
                let segment = mapped(&elf.segments, offset).ok_or(Reason::NotMapped { offset })?;
                let linked = segment.address.wrapping_sub(segment.offset).wrapping_add(offset);
                address.wrapping_sub(linked)
            }
        })
    }
}

/// Returns the segment of a mapping that begins at `offset`. A mapping begins at a page, so it may begin in
/// the segment before.
fn mapped(segments: &[Segment], offset: u64) -> Option<&Segment> {
    let maps = |segment: &&Segment| {
        let start = segment.offset - segment.offset % LARGEST_PAGE;
        (start..segment.offset.saturating_add(segment.len)).contains(&offset)
    };
    // Executable ones first, then one that contains the byte, then the one that begins next.
    segments
        .iter()
        .filter(maps)
        .min_by_key(|segment| (!segment.executable, segment.offset > offset, segment.offset.abs_diff(offset)))
}

/// Returns the offset of `.text` from a module's start, as far as it is known.
fn behind(sections: &[Section]) -> u64 {
    let Some(text) = sections.iter().position(|section| &*section.name == ".text") else { return 0 };
    let comes_before = |section: &Section| {
        let in_memory = section.flags.contains(SHF_ALLOC) && section.len > 0;
        in_memory && section.executable() && !section.name.starts_with(".init")
    };
    let align = sections[text].align;
    if align >= PAGE && sections[..text].iter().any(comes_before) { align } else { 0 }
}
