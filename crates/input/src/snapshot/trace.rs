//! Trace metadata file: the buffers, their sources, and the core of each source.

use std::collections::HashMap;
use std::path::Path;

use super::read::file_size;
use super::{Buffer, Device, DeviceClass, SourceRef};
use crate::ini::{self, Entry, Fields, Section};
use crate::packing::Packing;
use crate::problem::{Log, Problem, quote};

/// Reads the buffers that `bytes`, of `file`, describe.
pub(super) fn read(
    dir: &Path,
    file: &Path,
    bytes: &[u8],
    devices: &[Device],
    problems: &mut Vec<Problem>,
) -> Vec<Buffer> {
    let sections = ini::parse(file, bytes, problems);
    let mut log = Log::new(file, problems);
    let devices = Devices::new(devices);
    let (mut buffers, numbers) = read_buffers(dir, &sections, &mut log);
    let cores = cores_of_sources(&sections, &devices, &mut log);

    for entry in Fields::named(&sections, "source_buffers", &mut log).entries {
        let source = match devices.find(&entry.key, &DeviceClass::TraceSource) {
            Ok(source) => source,
            Err(what) => {
                log.error(entry.line, format!("{what} in [source_buffers]: skipped"));
                continue;
            }
        };
        match numbers.get(entry.value.as_str()) {
            Some(Some(number)) => {
                let (buffer, _) = &mut buffers[*number];
                buffer.sources.push(SourceRef { device: source, core: cores.get(&source).copied() });
            }
            // The buffer was skipped, and a problem says why.
            Some(None) => {}
            None => {
                let (source, buffer) = (quote(&entry.key), quote(&entry.value));
                log.error(entry.line, format!("no buffer is called {buffer}: source {source} is skipped"));
            }
        }
    }
    for (buffer, line) in buffers.iter().filter(|(buffer, _)| buffer.sources.is_empty()) {
        let name = quote(&buffer.name);
        log.warning(*line, format!("no source of [source_buffers] writes to buffer {name}"));
    }
    buffers.into_iter().map(|(buffer, _)| buffer).collect()
}

struct Devices<'a> {
    devices: &'a [Device],
    numbers: HashMap<&'a str, usize>,
}

impl<'a> Devices<'a> {
    fn new(devices: &'a [Device]) -> Self {
        let numbers =
            devices.iter().enumerate().map(|(number, device)| (device.name.as_str(), number)).collect();
        Self { devices, numbers }
    }

    /// Returns the index of the device `name`, or why there is none of that class.
    fn find(&self, name: &str, class: &DeviceClass) -> Result<usize, String> {
        let name_shown = quote(name);
        let Some(&number) = self.numbers.get(name) else {
            return Err(format!("no device is called {name_shown}"));
        };
        match &self.devices[number].class {
            found if found == class => Ok(number),
            found => Err(format!("{name_shown} has class {}, not {}", quote(found.name()), class.name())),
        }
    }
}

/// Buffers with the lines of their sections, and the index of each buffer name; `None` if it was skipped.
type Buffers<'a> = (Vec<(Buffer, u32)>, HashMap<&'a str, Option<usize>>);

/// Returns the buffers of all sections that `[trace_buffers]` lists, in section order: OpenCSD takes the
/// first section of the file for the first buffer, not the first of the list.
fn read_buffers<'a>(dir: &Path, sections: &'a [Section], log: &mut Log<'_>) -> Buffers<'a> {
    let fields = Fields::named(sections, "trace_buffers", log);
    let (mut buffers, mut numbers) = Buffers::default();
    let Some(list) = fields.require("buffers", "buffer0", "no trace", log) else { return (buffers, numbers) };
    // A comma at the end is common.
    let names = || list.value.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut lines: HashMap<&str, Option<u32>> = names().map(|name| (name, None)).collect();
    for section in sections {
        match lines.get_mut(section.name.as_str()) {
            None => continue,
            Some(Some(first)) => {
                let name = quote(&section.name);
                log.error(section.line, format!("section {name} repeats line {first}: skipped"));
                continue;
            }
            Some(line) => *line = Some(section.line),
        }
        let fields = Fields::of(section, log);
        let Some(name) = fields.require("name", "ETB_0", SKIPPED, log) else { continue };
        if numbers.contains_key(name.value.as_str()) {
            let shown = quote(&name.value);
            log.error(name.line, format!("another buffer is called {shown} already: {SKIPPED}"));
            continue;
        }
        let buffer = buffer(dir, name, &fields, log);
        numbers.insert(name.value.as_str(), buffer.as_ref().map(|_| buffers.len()));
        buffers.extend(buffer.map(|buffer| (buffer, section.line)));
    }
    for name in names().filter(|name| lines.get(name) == Some(&None)) {
        log.error(list.line, format!("there is no section {}: {SKIPPED}", quote(name)));
    }
    (buffers, numbers)
}

const SKIPPED: &str = "the buffer is skipped";

fn buffer(dir: &Path, name: &Entry, fields: &Fields<'_>, log: &mut Log<'_>) -> Option<Buffer> {
    let file = fields.require("file", "trace.bin", SKIPPED, log);
    let format = fields.require("format", "coresight", SKIPPED, log);
    let (file, format) = (file?, format?);
    let is_it = |packing: &Packing| packing.in_snapshots() == Some(&format.value);
    let known = Packing::ALL.into_iter().find(is_it);
    if known.is_none() {
        let expected = "coresight or source_data or dstream_coresight";
        let found = quote(&format.value);
        log.error(format.line, format!("unknown format {found}: expected {expected}; {SKIPPED}"));
    }
    let path = dir.join(&file.value);
    let shown = quote(&file.value);
    let size = match file_size(&path) {
        Ok(size) => size,
        Err(error) => {
            log.error(file.line, format!("trace {shown} cannot be read ({error}): {SKIPPED}"));
            return None;
        }
    };
    if size == 0 {
        log.warning(file.line, format!("trace {shown} is empty: there is nothing to decode"));
    }
    Some(Buffer { name: name.value.clone(), path, size, format: known?, sources: Vec::new() })
}

/// Returns the core of each source, from `[core_trace_sources]`, where a core occurs once for each of its
/// sources.
fn cores_of_sources(sections: &[Section], devices: &Devices<'_>, log: &mut Log<'_>) -> HashMap<usize, usize> {
    let mut cores = HashMap::new();
    for entry in ini::named(sections, "core_trace_sources").flat_map(|section| &section.entries) {
        let found = devices
            .find(&entry.key, &DeviceClass::Core)
            .and_then(|core| Ok((core, devices.find(&entry.value, &DeviceClass::TraceSource)?)));
        match found {
            // Only a warning: debuggers list the cores of the whole chip, traced or not.
            Err(what) => {
                log.warning(entry.line, format!("{what} in [core_trace_sources]: the line is not used"));
            }
            Ok((core, source)) => {
                let first = *cores.entry(source).or_insert(core);
                if first != core {
                    let (source, core) = (quote(&entry.value), quote(&devices.devices[first].name));
                    log.warning(
                        entry.line,
                        format!("source {source} traces core {core} already: the line is not used"),
                    );
                }
            }
        }
    }
    cores
}
