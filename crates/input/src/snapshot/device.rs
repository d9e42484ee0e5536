//! Device files: `[device]`, `[regs]` and any number of `[dump...]`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::read::file_size;
use super::{CoreKind, Device, DeviceClass, Dump, MemorySpace, Protocol, Register};
use crate::ini::{self, Entry, Fields, Section};
use crate::problem::{Log, Problem, quote};
use crate::registry;

/// Classes that need no remark: components between sources and buffers, which decoding does not need.
const SILENT_CLASSES: [&str; 4] = ["funnel", "replicator", "trace_link", "trace_sink"];

/// Reads the device that `bytes`, of `file`, describe. Returns `None` if it lacks a name or a class.
pub(super) fn read(dir: &Path, file: PathBuf, bytes: &[u8], problems: &mut Vec<Problem>) -> Option<Device> {
    let sections = ini::parse(&file, bytes, problems);
    let mut log = Log::new(&file, problems);
    let fields = Fields::named(&sections, "device", &mut log);
    let name = fields.require("name", "cpu_0", "the device is skipped", &mut log);
    let class = fields.require("class", "core or class=trace_source", "the device is skipped", &mut log);
    let (name, class) = (name?, class?);
    let kind = fields.find("type");
    let line = kind.map_or(class.line, |entry| entry.line);
    let kind = kind.map(|entry| entry.value.clone()).unwrap_or_default();
    let (name, class) = (name.value.clone(), known_class(class, &mut log));
    check_kind(&class, &kind, line, &mut log);
    let registers = registers(&sections, &class, &mut log);
    let dumps = sections
        .iter()
        .filter(|section| section.name.starts_with("dump"))
        .filter_map(|section| dump(dir, section, &mut log))
        .collect();
    Some(Device { name, class, kind, file, registers, dumps })
}

fn known_class(entry: &Entry, log: &mut Log<'_>) -> DeviceClass {
    let class = DeviceClass::from_name(&entry.value);
    if let DeviceClass::Other(name) = &class
        && !SILENT_CLASSES.contains(&name.as_str())
    {
        log.warning(
            entry.line,
            format!("unknown class {}: expected core or trace_source; the device is not used", quote(name)),
        );
    }
    class
}

fn check_kind(class: &DeviceClass, kind: &str, line: u32, log: &mut Log<'_>) {
    let shown = quote(kind);
    match class {
        DeviceClass::Core if CoreKind::of(kind).is_none() => log.warning(
            line,
            format!("unknown core type {shown}: expected a name like Cortex-A53 or a pattern like ARMv8-A"),
        ),
        DeviceClass::TraceSource if Protocol::of(kind).is_none() && registry::of_device(kind).is_none() => {
            log.warning(
                line,
                format!(
                    "unknown trace source type {shown}: expected ETM4, ETE, ETM3, PTM1, PFT1, STM, ITM or MTB"
                ),
            );
        }
        _ => {}
    }
}

fn registers(sections: &[Section], class: &DeviceClass, log: &mut Log<'_>) -> Vec<Register> {
    let mut lines = HashMap::new();
    let mut registers = Vec::new();
    for entry in ini::named(sections, "regs").flat_map(|section| &section.entries) {
        let name = entry.key.split('(').next().unwrap_or_default().trim().to_owned();
        let first = *lines.entry(name.to_ascii_uppercase()).or_insert(entry.line);
        if first != entry.line {
            log.error(entry.line, format!("register {} repeats line {first}: skipped", quote(&name)));
            continue;
        }
        let value = ini::number(&entry.value);
        // A core's registers may be wider than 64 bits, and nothing here depends on them.
        if value.is_none() && *class == DeviceClass::TraceSource {
            log.warning(entry.line, format!("{}: kept as text only", not_a_number(&name, &entry.value)));
        }
        registers.push(Register { name, value, text: entry.value.clone(), line: entry.line });
    }
    registers
}

/// Reads the dump of one section. Returns `None`, and reports a problem, if it cannot be used.
fn dump(dir: &Path, section: &Section, log: &mut Log<'_>) -> Option<Dump> {
    let log = &mut log.missing_code();
    let fields = Fields::of(section, log);
    let file = fields.require("file", "memory.bin", "the dump is skipped", log);
    let address = fields.require("address", "0x80000000", "the dump is skipped", log);
    let (file, address) = (file?, number(address?, log)?);
    let [length, offset] = ["length", "offset"].map(|key| match fields.find(key) {
        Some(entry) => number(entry, log),
        None => Some(0),
    });
    let (length, offset) = (length?, offset?);
    let space = match fields.find("space") {
        Some(entry) => space(entry, log)?,
        None => MemorySpace::ANY,
    };
    let path = dir.join(&file.value);
    let length = length_in_file(&path, file, offset, length, log)?;
    if address.checked_add(length - 1).is_none() {
        log.error(section.line, format!("{length:#x} bytes at {address:#x} pass the end of memory: skipped"));
        return None;
    }
    Some(Dump { path, address, length, offset, space, line: section.line })
}

/// Returns the actual number of bytes of a dump, at least 1. A `length` of 0 means the rest of the file.
fn length_in_file(path: &Path, file: &Entry, offset: u64, length: u64, log: &mut Log<'_>) -> Option<u64> {
    let (shown, line) = (quote(&file.value), file.line);
    let size = match file_size(path) {
        Ok(size) => size,
        Err(error) => {
            log.error(line, format!("memory dump {shown} cannot be read ({error}): skipped"));
            return None;
        }
    };
    let rest = match size.checked_sub(offset) {
        Some(rest) if rest > 0 => rest,
        _ => {
            log.error(line, format!("offset {offset:#x} is not inside {shown} ({size:#x} bytes): skipped"));
            return None;
        }
    };
    if length > rest {
        log.warning(
            line,
            format!("length {length:#x} is more than {shown} has from offset {offset:#x}: read as {rest:#x}"),
        );
    }
    Some(if length == 0 { rest } else { length.min(rest) })
}

fn number(entry: &Entry, log: &mut Log<'_>) -> Option<u64> {
    let value = ini::number(&entry.value);
    if value.is_none() {
        log.error(entry.line, format!("{}: the dump is skipped", not_a_number(&entry.key, &entry.value)));
    }
    value
}

fn not_a_number(key: &str, value: &str) -> String {
    format!("{} is {}: expected a number of 64 bits like 0x1000 or 4096", quote(key), quote(value))
}

fn space(entry: &Entry, log: &mut Log<'_>) -> Option<MemorySpace> {
    let space = MemorySpace::from_name(&entry.value);
    if space.is_none() {
        let found = quote(&entry.value);
        log.error(
            entry.line,
            format!(
                "unknown memory space {found}: expected EL1N, EL2, S, ANY or the like; the dump is skipped"
            ),
        );
    }
    space
}
