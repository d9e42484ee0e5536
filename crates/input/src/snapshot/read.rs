//! `snapshot.ini`, and the files it names.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Buffer, Device, Snapshot, device, overlap, trace};
use crate::file::{existing, read_plain, size};
use crate::folder::mappings;
use crate::ini::{self, Entry, Fields, Section};
use crate::problem::{Log, Problem, quote};

/// Most bytes of an ini file. A larger file is something else and is not loaded.
const MAX_INI_BYTES: u64 = 4 << 20;

pub(super) fn open(dir: &Path) -> Result<Snapshot, Problem> {
    let file = dir.join("snapshot.ini");
    let bytes = read_ini(&file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Problem::file_error(dir, "not a trace snapshot folder: it has no snapshot.ini")
        }
        _ => {
            Problem::file_error(&file, format!("cannot be read ({error}): expected a trace snapshot folder"))
        }
    })?;
    let mut problems = Vec::new();
    let sections = ini::parse(&file, &bytes, &mut problems);

    let mut log = Log::new(&file, &mut problems);
    let (version, description) = about(&sections, &mut log);
    let metadata = metadata(&sections, &mut log);
    let listed = listed_devices(&sections, &mut log);

    let mut devices = read_devices(dir, &file, &listed, &mut problems);
    overlap::resolve(&mut devices, &mut problems);
    let buffers = match metadata {
        Some(entry) => read_trace(dir, &file, entry, &devices, &mut problems),
        None => Vec::new(),
    };
    let processes = mappings::read(dir, &mut problems);
    Ok(Snapshot { dir: dir.to_owned(), version, description, devices, buffers, processes, problems })
}

/// Returns the size of a plain file. Anything else (a folder, a pipe that would block) is an error.
pub(super) fn file_size(path: &Path) -> io::Result<u64> {
    if fs::metadata(existing(path))?.is_file() {
        size(path)
    } else {
        Err(io::Error::other("not a plain file"))
    }
}

fn read_ini(path: &Path) -> io::Result<Vec<u8>> {
    read_plain(path, MAX_INI_BYTES)
}

/// Returns version and description, from `[snapshot]`.
fn about(sections: &[Section], log: &mut Log<'_>) -> (String, Option<String>) {
    let fields = Fields::named(sections, "snapshot", log);
    let version = fields.require("version", "1.0", "read as if it were there", log);
    if let Some(entry) = version
        && !matches!(entry.value.as_str(), "1" | "1.0")
    {
        let found = quote(&entry.value);
        log.error(entry.line, format!("unsupported version {found}: expected 1.0; read as if it were"));
    }
    let text = |entry: &Entry| entry.value.clone();
    (version.map(text).unwrap_or_default(), fields.find("description").map(text))
}

/// Returns the entry that names the trace metadata file, from `[trace]`, which a snapshot without trace does
/// not have.
fn metadata<'a>(sections: &'a [Section], log: &mut Log<'_>) -> Option<&'a Entry> {
    let fields = Fields::named(sections, "trace", log);
    fields.line.and_then(|_| fields.require("metadata", "trace.ini", "no trace", log))
}

/// Returns the entries that name device files. Their keys have no meaning and may repeat.
fn listed_devices<'a>(sections: &'a [Section], log: &mut Log<'_>) -> Vec<&'a Entry> {
    let listed: Vec<_> = ini::named(sections, "device_list").flat_map(|section| &section.entries).collect();
    if listed.is_empty() {
        log.error(None, "no devices: expected a [device_list] with a line like device0=cpu_0.ini for each");
    }
    listed
}

fn read_devices(dir: &Path, file: &Path, listed: &[&Entry], problems: &mut Vec<Problem>) -> Vec<Device> {
    let mut devices: Vec<Device> = Vec::new();
    let mut paths: HashMap<PathBuf, u32> = HashMap::new();
    let mut names: HashMap<String, u32> = HashMap::new();
    for entry in listed {
        let path = dir.join(&entry.value);
        let shown = quote(&entry.value);
        let first = *paths.entry(path.clone()).or_insert(entry.line);
        if first != entry.line {
            let message = format!("device file {shown} repeats line {first}: skipped");
            Log::new(file, problems).error(entry.line, message);
            continue;
        }
        let bytes = match read_ini(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let message = format!("device file {shown} cannot be read ({error}): skipped");
                Log::new(file, problems).error(entry.line, message);
                continue;
            }
        };
        let Some(device) = device::read(dir, path, &bytes, problems) else { continue };
        if let Some(first) = names.get(&device.name) {
            let name = quote(&device.name);
            let message = format!("the device in {shown} is called {name}, as that of line {first}: skipped");
            Log::new(file, problems).error(entry.line, message);
            continue;
        }
        names.insert(device.name.clone(), entry.line);
        devices.push(device);
    }
    devices
}

fn read_trace(
    dir: &Path,
    file: &Path,
    entry: &Entry,
    devices: &[Device],
    problems: &mut Vec<Problem>,
) -> Vec<Buffer> {
    let path = dir.join(&entry.value);
    match read_ini(&path) {
        Ok(bytes) => trace::read(dir, &path, &bytes, devices, problems),
        Err(error) => {
            let message =
                format!("trace metadata {} cannot be read ({error}): no trace", quote(&entry.value));
            Log::new(file, problems).error(entry.line, message);
            Vec::new()
        }
    }
}
