use std::ops::Range;

use object::elf;

use super::Elf;
use super::read::Note;

/// Most parts with notes that are read.
const MOST_PARTS: usize = 64;

/// Finds the build ID, a GNU note that a file shares with its debug file.
pub(super) fn build_id(elf: &Elf, file: &[u8]) -> Option<Range<usize>> {
    let sections =
        elf.sections.iter().filter(|section| section.kind == elf::SHT_NOTE && section.is_in_file());
    let sections =
        sections.map(|section| Note { offset: section.offset, len: section.len, align: section.align });
    // A file stripped of its sections still has segments.
    let notes = sections.take(MOST_PARTS).chain(elf.notes.iter().copied().take(MOST_PARTS));
    notes
        .filter_map(|note| {
            let (start, len) = (usize::try_from(note.offset).ok()?, usize::try_from(note.len).ok()?);
            let range = in_notes(file.get(start..)?.get(..len)?, note.align)?;
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
