use std::borrow::Cow;

use gimli::{EndianSlice, LittleEndian, SectionId};

use super::Dwarf;
use crate::elf::Elf;

/// Sections that are read.
const NEEDED: [SectionId; 9] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
];

/// Most bytes of all unpacked sections of a file.
const MOST_UNPACKED: usize = 2 << 30;

/// Debug sections that are compressed in the file, unpacked.
#[derive(Debug, Default)]
pub(super) struct Sections {
    unpacked: Vec<(SectionId, Vec<u8>)>,
    /// First section that cannot be unpacked, with the reason.
    pub fault: Option<Box<str>>,
}

impl Sections {
    /// Unpacks the compressed debug sections of `file`, whose headers are `elf`.
    pub fn new(elf: &Elf, file: &[u8]) -> Self {
        let mut sections = Self::default();
        let mut room = MOST_UNPACKED;
        for id in NEEDED {
            match elf.debug_section(file, id.name()) {
                Ok(Cow::Borrowed(_)) => {}
                Ok(Cow::Owned(bytes)) if bytes.len() <= room => {
                    room -= bytes.len();
                    sections.unpacked.push((id, bytes));
                }
                Ok(Cow::Owned(_)) => sections.note(id, "is too large when it is unpacked"),
                Err(fault) => sections.note(id, &fault.to_string()),
            }
        }
        sections
    }

    fn note(&mut self, id: SectionId, why: &str) {
        self.fault.get_or_insert_with(|| format!("{} {why}", id.name()).into());
    }

    /// Creates a reader of the debug sections of `file`, whose headers are `elf`.
    pub fn dwarf<'a>(&'a self, elf: &Elf, file: &'a [u8]) -> Dwarf<'a> {
        let section = |id: SectionId| {
            let unpacked = self.unpacked.iter().find(|(unpacked, _)| *unpacked == id);
            let bytes = match unpacked {
                Some((_, bytes)) => bytes,
                None => elf.section_bytes(file, id.name()).unwrap_or_default(),
            };
            Ok::<_, gimli::Error>(EndianSlice::new(bytes, LittleEndian))
        };
        Dwarf::load(section).unwrap_or_default()
    }
}
