use std::ffi::CStr;
use std::ops::Range;

use object::LittleEndian;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

use super::Elf;
use crate::error::Reason;
use crate::pieces::Pieces;

/// Length at which section names are cut, like all strings of a file that may lack an end.
const MAX_SECTION_NAME: usize = 256;

/// Most parts with notes that are read.
const MOST_PARTS: usize = 64;

/// Loaded part of the file. Its bytes in memory beyond those in the file are zeros and not code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// Linked address.
    pub address: u64,
    /// Offset of its bytes in the file.
    pub offset: u64,
    /// Stated number of bytes.
    pub len: u64,
    pub executable: bool,
}

/// Segment of notes: its place in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    pub offset: u64,
    pub len: u64,
    pub align: u64,
}

#[derive(Debug)]
pub(crate) struct Section {
    pub name: Box<str>,
    pub kind: elf::SectionType,
    pub flags: elf::SectionFlags,
    /// Linked address, if it is loaded.
    pub address: u64,
    pub offset: u64,
    pub len: u64,
    /// Related section: the strings of symbols, the symbols of relocations.
    pub link: u32,
    /// Section that relocations apply to.
    pub info: u32,
    pub align: u64,
    /// Whether the section is in memory when the program runs.
    pub loaded: bool,
}

impl Section {
    /// Returns the linked addresses.
    pub fn addresses(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.len)
    }

    /// Returns whether the section has code.
    pub fn executable(&self) -> bool {
        self.flags.contains(elf::SHF_EXECINSTR)
    }

    /// Returns whether the section has bytes in the file.
    pub fn is_in_file(&self) -> bool {
        self.kind != elf::SHT_NOBITS
    }

    /// Returns whether its bytes in the file are uncompressed.
    pub fn is_plain(&self) -> bool {
        self.is_in_file() && !self.flags.contains(elf::SHF_COMPRESSED)
    }

    /// Returns its bytes, or `None` if the file does not have all of them.
    pub fn bytes<'a>(&self, file: &'a [u8]) -> Option<&'a [u8]> {
        if !self.is_in_file() {
            return None;
        }
        let start = usize::try_from(self.offset).ok()?;
        let len = usize::try_from(self.len).ok()?;
        file.get(start..)?.get(..len)
    }
}

/// Reads the headers of an ELF file of any class.
pub(super) fn headers(file: &[u8]) -> Result<Elf, Reason> {
    if !file.starts_with(&elf::ELFMAG) {
        return Err(if file.is_empty() { Reason::Empty } else { Reason::NotElf });
    }
    let ident = |index: usize| file.get(index).copied().unwrap_or_default();
    let (class, data) = (ident(4), ident(5));
    if data == elf::ELFDATA2MSB.0 {
        return Err(Reason::BigEndian);
    }
    match class {
        _ if class == elf::ELFCLASS32.0 => headers_of::<FileHeader32<LittleEndian>>(file),
        _ if class == elf::ELFCLASS64.0 => headers_of::<FileHeader64<LittleEndian>>(file),
        _ => Err(Reason::Malformed("it is neither of 32 nor of 64 bits")),
    }
}

fn headers_of<H: FileHeader<Endian = LittleEndian>>(file: &[u8]) -> Result<Elf, Reason> {
    let header =
        H::parse(file).map_err(|_| Reason::Malformed("its header is cut off or of an unknown version"))?;
    let kind = header.e_type(LittleEndian);
    let programs = header
        .program_headers(LittleEndian, file)
        .map_err(|_| Reason::Malformed("its program headers are not in the file, or of an unknown size"))?;
    // A memory dump or a truncated file may have lost its sections, which are not needed to run.
    let headers = header.section_headers(LittleEndian, file).unwrap_or_default();
    Ok(Elf {
        wide: header.is_class_64(),
        machine: header.e_machine(LittleEndian),
        entry: header.e_entry(LittleEndian).into(),
        relocatable: kind == elf::ET_REL,
        segments: segments(programs),
        notes: notes(programs),
        sections: sections(header, headers, file),
        sections_at: Pieces::default(),
        build_id: None,
        unrelocated: Vec::new(),
        zcm: None,
    })
}

fn segments<P: ProgramHeader<Endian = LittleEndian>>(headers: &[P]) -> Vec<Segment> {
    let loaded = headers.iter().filter(|header| header.p_type(LittleEndian) == elf::PT_LOAD);
    let segments = loaded.map(|header| Segment {
        address: header.p_vaddr(LittleEndian).into(),
        offset: header.p_offset(LittleEndian).into(),
        len: header.p_filesz(LittleEndian).into(),
        executable: header.p_flags(LittleEndian).contains(elf::PF_X),
    });
    segments.filter(|segment| segment.len > 0).collect()
}

fn notes<P: ProgramHeader<Endian = LittleEndian>>(headers: &[P]) -> Vec<Note> {
    let notes = headers.iter().filter(|header| header.p_type(LittleEndian) == elf::PT_NOTE);
    let note = |header: &P| Note {
        offset: header.p_offset(LittleEndian).into(),
        len: header.p_filesz(LittleEndian).into(),
        align: header.p_align(LittleEndian).into(),
    };
    notes.map(note).collect()
}

fn sections<H: FileHeader<Endian = LittleEndian>>(
    file_header: &H,
    headers: &[H::SectionHeader],
    file: &[u8],
) -> Vec<Section> {
    let names = file_header.shstrndx(LittleEndian, file).ok();
    let names = names.and_then(|index| headers.get(index as usize));
    let names = names.and_then(|header| header.data(LittleEndian, file).ok()).unwrap_or_default();
    let section = |header: &H::SectionHeader| {
        let flags = header.sh_flags(LittleEndian);
        Section {
            name: String::from_utf8_lossy(string_at(names, header.sh_name(LittleEndian), MAX_SECTION_NAME))
                .into(),
            kind: header.sh_type(LittleEndian),
            flags,
            address: header.sh_addr(LittleEndian).into(),
            offset: header.sh_offset(LittleEndian).into(),
            len: header.sh_size(LittleEndian).into(),
            link: header.sh_link(LittleEndian),
            info: header.sh_info(LittleEndian),
            align: header.sh_addralign(LittleEndian).into(),
            loaded: flags.contains(elf::SHF_ALLOC) && !flags.contains(elf::SHF_TLS),
        }
    };
    headers.iter().map(section).collect()
}

/// Returns the string at `offset`, at most `max` bytes.
pub(super) fn string_at(strings: &[u8], offset: u32, max: usize) -> &[u8] {
    let rest = strings.get(offset as usize..).unwrap_or_default();
    let rest = &rest[..rest.len().min(max)];
    CStr::from_bytes_until_nul(rest).map_or(rest, CStr::to_bytes)
}

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
