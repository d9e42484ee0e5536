use std::ops::Range;

use object::elf;

use super::Elf;

/// No file has more sections of notes.
const MAX_SECTIONS: usize = 64;

/// Finds the build ID, by which a file and its debug information know each other: the bytes of a note of GNU's.
pub(super) fn build_id(elf: &Elf, file: &[u8]) -> Option<Range<usize>> {
    let notes = elf.sections.iter().filter(|section| section.kind == elf::SHT_NOTE);
    notes
        .take(MAX_SECTIONS)
        .filter_map(|section| {
            let start = usize::try_from(section.offset).ok()?;
            let range = in_notes(section.bytes(file)?, section.align)?;
            Some(start + range.start..start + range.end)
        })
        .next()
}

fn in_notes(notes: &[u8], align: u64) -> Option<Range<usize>> {
    let align = if align == 8 { 8 } else { 4 };
    let word = |at: usize| Some(u32::from_le_bytes(*notes.get(at..)?.first_chunk()?) as usize);
    let mut at = 0_usize;
    loop {
        let (name_len, len, kind) = (word(at)?, word(at + 4)?, word(at + 8)?);
        let name = at + 12..(at + 12).checked_add(name_len)?;
        let start = name.end.checked_next_multiple_of(align)?;
        let end = start.checked_add(len)?;
        let is_build_id = kind == elf::NT_GNU_BUILD_ID.0 as usize && notes.get(name)? == b"GNU\0";
        if is_build_id && end <= notes.len() && len > 0 {
            return Some(start..end);
        }
        at = end.checked_next_multiple_of(align)?;
    }
}
