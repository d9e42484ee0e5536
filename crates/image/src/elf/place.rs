use object::elf::SHF_ALLOC;

use super::{Elf, Section, Segment};
use crate::error::Reason;

/// The smallest page any of our programs was loaded with, and the largest.
const PAGE: u64 = 0x1000;
const LARGEST_PAGE: u64 = 0x10000;

/// Where an ELF file was in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// At the addresses it was linked for.
    #[default]
    AsLinked,
    /// This much further on than it was linked for; wraps around.
    Bias(u64),
    /// The lowest byte that is loaded is in the page (of 4 KiB) at this address; that is what the first line of the file
    /// in `/proc/PID/maps` says. Of a relocatable file (a kernel module), `.text` is at this address.
    Base(u64),
    /// It is a kernel module, and the memory that Linux gave it begins here.
    Module {
        /// The address of that memory.
        start: u64,
        /// How far behind it `.text` is, if somebody has looked. Linux loads what is executable in the order of the file, a
        /// table of jumps that it makes itself first; only if `.text` begins a page it is clear how far behind that it is.
        text: Option<u64>,
    },
    /// An executable part of it was mapped, as one line of `/proc/PID/maps` or one `MMAP` record of perf says.
    Mapping {
        /// The address of the mapping.
        address: u64,
        /// The offset in the file of the byte at that address.
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
    /// What to add to the addresses `elf` was linked for.
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

/// The segment a mapping that begins at `offset` is of. A mapping begins at a page, so it may begin in the segment before.
fn mapped(segments: &[Segment], offset: u64) -> Option<&Segment> {
    let maps = |segment: &&Segment| {
        let start = segment.offset - segment.offset % LARGEST_PAGE;
        (start..segment.offset.saturating_add(segment.len)).contains(&offset)
    };
    // Executable ones first; then one that has the byte; then the one that begins next.
    segments
        .iter()
        .filter(maps)
        .min_by_key(|segment| (!segment.executable, segment.offset > offset, segment.offset.abs_diff(offset)))
}

/// How far behind a module's start its `.text` is, as far as that can be told.
fn behind(sections: &[Section]) -> u64 {
    let Some(text) = sections.iter().position(|section| &*section.name == ".text") else { return 0 };
    let comes_before = |section: &Section| {
        let in_memory = section.flags.contains(SHF_ALLOC) && section.len > 0;
        in_memory && section.executable() && !section.name.starts_with(".init")
    };
    let align = sections[text].align;
    if align >= PAGE && sections[..text].iter().any(comes_before) { align } else { 0 }
}
