use std::borrow::Cow;
use std::collections::BTreeSet;

use gimli::FileEntry;

use super::{Dwarf, GimliUnit, MAX_TEXT, Reader};

type Head<'a> = gimli::LineProgramHeader<Reader<'a>>;

/// Length at which a path is cut.
const MAX_PATH: usize = 0x1000;

/// Paths of the referenced source files of a unit, by number.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// All paths, one after another.
    text: String,
    /// Number of each path and its end in the text, in order of numbers.
    ends: Vec<(u32, u32)>,
    /// Whether there are more paths than are kept.
    pub is_short: bool,
}

impl Files {
    /// Reads the paths of the files of `unit` with these numbers; `head` is the header of its line program.
    pub fn new(dwarf: &Dwarf<'_>, unit: &GimliUnit<'_>, head: &Head<'_>, numbers: &BTreeSet<u32>) -> Self {
        let mut files = Self::default();
        // Numbers begin at 1 before DWARF 5.
        let first = u32::from(head.version() < 5);
        for &number in numbers {
            let entry = number.checked_sub(first).and_then(|index| head.file_names().get(index as usize));
            let Some(path) = entry.and_then(|entry| path(dwarf, unit, head, entry)) else { continue };
            if files.text.len() + path.len() > MAX_TEXT {
                files.is_short = true;
                break;
            }
            files.text.push_str(&path);
            files.ends.push((number, files.text.len() as u32));
        }
        files.text.shrink_to_fit();
        files
    }

    /// Returns the path of a file.
    pub fn get(&self, number: u32) -> Option<&str> {
        let at = self.ends.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before].1);
        Some(&self.text[start as usize..self.ends[at].1 as usize]).filter(|path| !path.is_empty())
    }

    /// Returns the memory used, in bytes.
    pub fn memory(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<(u32, u32)>()
    }
}

fn path(
    dwarf: &Dwarf<'_>,
    unit: &GimliUnit<'_>,
    head: &Head<'_>,
    file: &FileEntry<Reader<'_>>,
) -> Option<String> {
    let mut path = String::new();
    if let Some(directory) = &unit.comp_dir {
        push(&mut path, &text(directory));
    }
    // Directory 0 is that of the unit.
    if file.directory_index() != 0
        && let Some(directory) = file.directory(head)
    {
        push(&mut path, &text(&dwarf.attr_string(unit, directory).ok()?));
    }
    push(&mut path, &text(&dwarf.attr_string(unit, file.path_name()).ok()?));
    Some(path)
}

fn text<'a>(text: &Reader<'a>) -> Cow<'a, str> {
    let text = text.slice();
    String::from_utf8_lossy(&text[..text.len().min(MAX_PATH)])
}

/// Appends `next` to `path`, or replaces it if `next` is absolute; paths of Unix and Windows are accepted.
fn push(path: &mut String, next: &str) {
    let bytes = next.as_bytes();
    let is_windows = |bytes: &[u8]| {
        bytes.get(1) == Some(&b':') && bytes.get(2) == Some(&b'\\') || bytes.starts_with(b"\\")
    };
    if bytes.starts_with(b"/") || is_windows(bytes) {
        path.clear();
    } else if !path.is_empty() && !path.ends_with(['/', '\\']) {
        path.push(if is_windows(path.as_bytes()) { '\\' } else { '/' });
    }
    path.push_str(next);
}
