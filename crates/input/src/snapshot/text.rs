//! Text of a snapshot's ini files.

use std::fmt::{self, Write};
use std::path::Path;

use super::{Device, MemorySpace, Snapshot};

pub(super) fn snapshot(snapshot: &Snapshot) -> String {
    let mut text = Text::default();
    text.put(format_args!("[snapshot]"));
    text.put(format_args!("version={}", snapshot.version));
    if let Some(description) = &snapshot.description {
        text.put(format_args!("description={description}"));
    }
    text.put(format_args!("\n[device_list]"));
    for (number, device) in snapshot.devices.iter().enumerate() {
        text.put(format_args!("device{number}={}", file_name(&device.file)));
    }
    if !snapshot.buffers.is_empty() {
        text.put(format_args!("\n[trace]\nmetadata=trace.ini"));
    }
    text.text
}

/// Writes a device file. Stores in `device` the lines of its registers and dumps.
pub(super) fn device(device: &mut Device) -> String {
    let mut text = Text::default();
    text.put(format_args!("[device]\nname={}", device.name));
    text.put(format_args!("class={}\ntype={}", device.class.name(), device.kind));
    if !device.registers.is_empty() {
        text.put(format_args!("\n[regs]"));
    }
    for register in &mut device.registers {
        register.line = text.put(format_args!("{}={}", register.name, register.text));
    }
    for (number, dump) in device.dumps.iter_mut().enumerate() {
        text.put(format_args!(""));
        dump.line = text.put(format_args!("[dump{number}]"));
        text.put(format_args!("file={}\naddress={:#018x}", file_name(&dump.path), dump.address));
        text.put(format_args!("length={:#x}", dump.length));
        if dump.offset != 0 {
            text.put(format_args!("offset={:#x}", dump.offset));
        }
        // Old readers know no spaces, so the default is left out.
        if dump.space != MemorySpace::ANY {
            text.put(format_args!("space={}", dump.space));
        }
    }
    text.text
}

pub(super) fn trace(snapshot: &Snapshot) -> String {
    let mut text = Text::default();
    let sections: Vec<_> = (0..snapshot.buffers.len()).map(|number| format!("buffer{number}")).collect();
    text.put(format_args!("[trace_buffers]\nbuffers={}", sections.join(",")));
    for (section, buffer) in sections.iter().zip(&snapshot.buffers) {
        text.put(format_args!("\n[{section}]\nname={}", buffer.name));
        text.put(format_args!(
            "file={}\nformat={}",
            file_name(&buffer.path),
            buffer.format.in_snapshots().unwrap_or_default()
        ));
    }
    let name = |device: usize| snapshot.devices.get(device).map_or("", |device| &device.name);
    let sources =
        || snapshot.buffers.iter().flat_map(|buffer| buffer.sources.iter().map(move |s| (buffer, s)));
    text.put(format_args!("\n[source_buffers]"));
    for (buffer, source) in sources() {
        text.put(format_args!("{}={}", name(source.device), buffer.name));
    }
    text.put(format_args!("\n[core_trace_sources]"));
    for (_, source) in sources() {
        if let Some(core) = source.core {
            text.put(format_args!("{}={}", name(core), name(source.device)));
        }
    }
    text.text
}

/// Text with a line count.
#[derive(Default)]
struct Text {
    text: String,
    lines: u32,
}

impl Text {
    /// Adds one or more lines. Returns the number of the last.
    fn put(&mut self, lines: fmt::Arguments<'_>) -> u32 {
        let start = self.text.len();
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{lines}");
        let added = self.text.bytes().skip(start).filter(|&byte| byte == b'\n').count();
        self.lines += u32::try_from(added).unwrap_or(0);
        self.lines
    }
}

fn file_name(path: &Path) -> impl fmt::Display {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
