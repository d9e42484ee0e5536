//! What is in a folder that a capture is to be written to.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::file::read_text;
use crate::folder::{CAPTURE_FILE, CHECKSUMS_FILE, mappings::MAPPINGS_FILE};

/// What is in a folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Earlier {
    /// Nothing.
    Nothing,
    /// A capture that we wrote, and nothing else.
    Capture,
    /// A capture that we wrote, and something that does not belong to it.
    More(String),
    /// Something else.
    Foreign,
}

/// Files that describe a capture.
const DESCRIPTIONS: [&str; 4] = [CAPTURE_FILE, CHECKSUMS_FILE, MAPPINGS_FILE, "snapshot.ini"];
/// Files of captures besides those that their descriptions name.
const FIXED: [&str; 7] =
    [CAPTURE_FILE, CHECKSUMS_FILE, MAPPINGS_FILE, "snapshot.ini", "trace.ini", "run.log", "room.tmp"];

impl Earlier {
    /// Looks into a folder.
    pub fn of(dir: &Path) -> io::Result<Self> {
        let names = names(dir)?;
        if names.is_empty() {
            return Ok(Self::Nothing);
        }
        let Some(known) = Known::of(dir) else { return Ok(Self::Foreign) };
        let other = names.into_iter().find(|name| !known.has(dir, name));
        Ok(other.map_or(Self::Capture, Self::More))
    }
}

/// Removes the files of a capture that we wrote from a folder, and leaves all others. Of another capture, only the descriptions are
/// removed: they would be read instead of the new one's.
pub(super) fn remove(dir: &Path) -> io::Result<()> {
    let known = Known::of(dir);
    let is_known = |name: &String| match &known {
        Some(known) => known.has(dir, name),
        None => DESCRIPTIONS.contains(&&name[..]),
    };
    for name in names(dir)?.into_iter().filter(is_known) {
        let path = dir.join(name);
        match fs::symlink_metadata(&path)?.is_dir() {
            true => fs::remove_dir_all(path)?,
            false => fs::remove_file(path)?,
        }
    }
    Ok(())
}

/// Returns whether a folder has the marks of a capture that we wrote: checksums, or the mark of a recording that is not finished. A
/// description that a person wrote has neither.
pub(super) fn is_ours(dir: &Path) -> bool {
    Known::of(dir).is_some()
}

fn names(dir: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Files of a capture that we wrote.
struct Known {
    named: BTreeSet<String>,
    /// Whether the recording was not finished, so that not all files are named.
    is_unfinished: bool,
}

impl Known {
    /// Returns the files, if a folder has a capture that we wrote.
    fn of(dir: &Path) -> Option<Self> {
        let (mut named, mut is_ours, mut is_unfinished) = (BTreeSet::new(), false, false);
        for file in [CAPTURE_FILE, CHECKSUMS_FILE] {
            let path = dir.join(file);
            // A link is not a capture.
            if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()) {
                continue;
            }
            let Ok(text) = read_text(&path) else { continue };
            let Ok(table) = DeTable::parse(&text) else { continue };
            let table = table.get_ref();
            let value = |key: &str| table.iter().find(|(name, _)| name.get_ref() == key);
            is_unfinished |= value("finished")
                .is_some_and(|(_, value)| matches!(value.get_ref(), DeValue::Boolean(false)));
            is_ours |= is_unfinished || file == CHECKSUMS_FILE || value("checksums").is_some();
            strings(table, &mut named);
        }
        is_ours.then_some(Self { named, is_unfinished })
    }

    fn has(&self, dir: &Path, name: &str) -> bool {
        let is_device = name.starts_with("device_") && name.ends_with(".ini");
        let is_process = || {
            let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            name.strip_prefix("pid").is_some_and(is_number)
                && matches!(Earlier::of(&dir.join(name)), Ok(Earlier::Nothing | Earlier::Capture))
        };
        let is_part = || name.ends_with(".part") || self.is_unfinished && name.ends_with(".bin");
        FIXED.contains(&name) || self.named.contains(name) || is_device || is_part() || is_process()
    }
}

/// Collects the names of files in a description.
fn strings(table: &DeTable<'_>, into: &mut BTreeSet<String>) {
    for (key, value) in table.iter() {
        match value.get_ref() {
            DeValue::String(text) if matches!(&key.get_ref()[..], "file" | "name" | "delta") => {
                into.insert(text.to_string());
            }
            DeValue::Array(values) => {
                for value in values.iter() {
                    if let DeValue::Table(table) = value.get_ref() {
                        strings(table, into);
                    }
                }
            }
            _ => {}
        }
    }
}
