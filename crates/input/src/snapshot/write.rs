use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Buffer, Device, DeviceClass, Dump, MemorySpace, Register, Snapshot, SourceRef};
use crate::folder::{checksums, mappings};
use crate::ini;
use crate::mapping::Process;
use crate::output::{OutputFolder, Replace, cannot_write};
use crate::packing::Packing;
use crate::problem::{Problem, quote};

/// Writer of a snapshot folder, which OpenCSD's tools open too.
///
/// Memory and trace go to disk as they come. [`finish`](Self::finish) writes the text files and verifies them
/// by reading them back. Before that the folder has no `snapshot.ini`, so that a partial one is not mistaken
/// for a complete one.
///
/// # Errors
/// All functions fail if a file cannot be read or written, if an ini file cannot hold a text, or if there is no device,
/// buffer or file with a given number. The [`Problem`] names the file.
#[derive(Debug)]
pub struct SnapshotWriter {
    folder: OutputFolder,
    /// Expected result of reading the folder, except for line numbers.
    snapshot: Snapshot,
    /// Files with memory that devices may share, and their sizes.
    memory: Vec<(PathBuf, u64)>,
}

impl SnapshotWriter {
    /// Starts a snapshot in the folder `dir`. An earlier capture there is replaced when this one is complete.
    ///
    /// # Errors
    /// Fails if the folder cannot be created or [claimed](OutputFolder::claim).
    pub fn create(dir: &Path) -> Result<Self, Problem> {
        Self::within(OutputFolder::claim(dir, Replace::SameKind)?)
    }

    /// Starts a snapshot in a claimed folder.
    pub fn within(folder: OutputFolder) -> Result<Self, Problem> {
        // Comes first, because it marks the folder as an unfinished recording of ours.
        checksums::write_unfinished(&folder)?;
        let dir = folder.path();
        Ok(Self {
            snapshot: Snapshot {
                dir: dir.to_owned(),
                version: "1.0".to_owned(),
                description: None,
                devices: Vec::new(),
                buffers: Vec::new(),
                processes: Vec::new(),
                problems: Vec::new(),
            },
            memory: Vec::new(),
            folder,
        })
    }

    /// Sets the description: one line of free text.
    pub fn describe(&mut self, text: &str) -> Result<(), Problem> {
        self.snapshot.description = Some(self.value("description", text)?);
        Ok(())
    }

    /// Adds a core: a unique name, a [type](super::CoreKind::of), registers. Returns its number.
    pub fn core(&mut self, name: &str, kind: &str, registers: &[(&str, u64)]) -> Result<usize, Problem> {
        self.device(DeviceClass::Core, name, kind, registers)
    }

    /// Adds a trace source: a unique name, a [type](super::Protocol::of), registers. Returns its number.
    pub fn source(&mut self, name: &str, kind: &str, registers: &[(&str, u64)]) -> Result<usize, Problem> {
        self.device(DeviceClass::TraceSource, name, kind, registers)
    }

    /// Adds memory that device number `device` saw: all `bytes`, from `address` on.
    pub fn dump(
        &mut self,
        device: usize,
        address: u64,
        space: MemorySpace,
        bytes: impl Read,
    ) -> Result<(), Problem> {
        let Some(number) = self.snapshot.devices.get(device).map(|device| device.dumps.len()) else {
            return Err(self.no_device(device));
        };
        let (path, length) = self.copy(&format!("dump_{device}_{number}.bin"), bytes)?;
        let dumps = &mut self.snapshot.devices[device].dumps;
        dumps.push(Dump { path, address, length, offset: 0, space, line: 0 });
        Ok(())
    }

    /// Adds a file with memory that several devices may see, each by [`see`](Self::see). Returns its number.
    pub fn memory(&mut self, bytes: impl Read) -> Result<usize, Problem> {
        let number = self.memory.len();
        let file = self.copy(&format!("memory_{number}.bin"), bytes)?;
        self.memory.push(file);
        Ok(number)
    }

    /// Adds memory that device number `device` saw at `address`: the `length` bytes at `offset` in
    /// [`memory`](Self::memory) file number `file`.
    pub fn see(
        &mut self,
        device: usize,
        file: usize,
        (offset, length): (u64, u64),
        address: u64,
        space: MemorySpace,
    ) -> Result<(), Problem> {
        let Some((path, size)) = self.memory.get(file) else {
            let message = format!("no file with memory has number {file}");
            return Err(Problem::file_error(&self.snapshot.dir, message));
        };
        if length == 0 || offset.checked_add(length).is_none_or(|end| end > *size) {
            return Err(Problem::file_error(path, format!("has no {length:#x} bytes at offset {offset:#x}")));
        }
        let dump = Dump { path: path.clone(), address, length, offset, space, line: 0 };
        match self.snapshot.devices.get_mut(device) {
            Some(device) => device.dumps.push(dump),
            None => return Err(self.no_device(device)),
        }
        Ok(())
    }

    /// Adds a traced process with its mappings. They go to `mappings.toml`, which only tracewright reads.
    pub fn process(&mut self, process: Process) {
        self.snapshot.processes.push(process);
    }

    /// Adds a trace buffer that is written during tracing: a unique name, a format. Returns its number, and
    /// the path and file for its bytes.
    pub fn open_buffer(&mut self, name: &str, format: Packing) -> Result<(usize, PathBuf, File), Problem> {
        let message = || format!("packing {} cannot be in a snapshot", format.name());
        format.in_snapshots().ok_or_else(|| Problem::file_error(&self.snapshot.dir, message()))?;
        let name = self.value("buffer name", name)?;
        let number = self.snapshot.buffers.len();
        let file = format!("buffer_{number}.bin");
        let path = self.snapshot.dir.join(&file);
        let file = self.folder.trace(&file)?;
        self.snapshot.buffers.push(Buffer { name, path: path.clone(), size: 0, format, sources: Vec::new() });
        Ok((number, path, file))
    }

    /// Adds a trace buffer with all `bytes`: a unique name, a format. Returns its number.
    pub fn buffer(&mut self, name: &str, format: Packing, mut bytes: impl Read) -> Result<usize, Problem> {
        let (number, path, mut file) = self.open_buffer(name, format)?;
        io::copy(&mut bytes, &mut file).map_err(|error| cannot_write(&path, &error))?;
        Ok(number)
    }

    /// Connects source number `source` to buffer number `buffer`, and to core number `core` that it traces. A
    /// source writes to one buffer; a core may have several sources.
    pub fn connect(&mut self, source: usize, buffer: usize, core: Option<usize>) -> Result<(), Problem> {
        for device in [Some(source), core].into_iter().flatten() {
            if device >= self.snapshot.devices.len() {
                return Err(self.no_device(device));
            }
        }
        let missing = Problem::file_error(&self.snapshot.dir, format!("no buffer has number {buffer}"));
        let buffer = self.snapshot.buffers.get_mut(buffer).ok_or(missing)?;
        buffer.sources.push(SourceRef { device: source, core });
        Ok(())
    }

    /// Writes the text files, reads the folder back and returns the result, which has no problems.
    ///
    /// # Errors
    /// Fails if a file cannot be written, or with the first fault that makes the snapshot invalid: duplicate
    /// names, overlapping memory, unknown types, empty or unconnected buffers...
    pub fn finish(mut self) -> Result<Snapshot, Problem> {
        for (number, device) in self.snapshot.devices.iter_mut().enumerate() {
            self.folder.replace(&device_file(number), device_text(device).as_bytes())?;
        }
        let dir = &self.snapshot.dir;
        self.folder.replace("trace.ini", trace_text(&self.snapshot).as_bytes())?;
        mappings::write(&self.folder, &self.snapshot.processes)?;
        // A buffer that was written during tracing has its final length now.
        for buffer in &mut self.snapshot.buffers {
            let metadata = fs::metadata(&buffer.path).map_err(|error| cannot_write(&buffer.path, &error))?;
            buffer.size = metadata.len();
        }
        checksums::write(&self.folder, &self.files())?;
        self.folder.replace("snapshot.ini", snapshot_text(&self.snapshot).as_bytes())?;
        let read = Snapshot::open(dir)?;
        match read.problems.first() {
            Some(problem) => Err(problem.clone()),
            None if read != self.snapshot => {
                Err(Problem::file_error(dir, "what was written reads back as something else"))
            }
            None => Snapshot::open(&self.folder.finish()?),
        }
    }

    fn device(
        &mut self,
        class: DeviceClass,
        name: &str,
        kind: &str,
        registers: &[(&str, u64)],
    ) -> Result<usize, Problem> {
        let number = self.snapshot.devices.len();
        let (name, kind) = (self.key("device name", name)?, self.value("device type", kind)?);
        let registers = registers
            .iter()
            .map(|&(name, value)| {
                let name = self.key("register name", name)?;
                Ok(Register { name, value: Some(value), text: format!("{value:#010x}"), line: 0 })
            })
            .collect::<Result<_, Problem>>()?;
        let file = self.snapshot.dir.join(device_file(number));
        self.snapshot.devices.push(Device { name, class, kind, file, registers, dumps: Vec::new() });
        Ok(number)
    }

    /// Checks that an ini file can hold `text` as a value.
    fn value(&self, what: &str, text: &str) -> Result<String, Problem> {
        let special = |c: char| c.is_control() || ";#".contains(c);
        if text.is_empty() || text.trim() != text || ini::unquote(text) != text || text.contains(special) {
            let message = format!("{what} {} cannot be written to an ini file", quote(text));
            return Err(Problem::file_error(&self.snapshot.dir, message));
        }
        Ok(text.to_owned())
    }

    /// Checks that an ini file can hold `text` as a key.
    fn key(&self, what: &str, text: &str) -> Result<String, Problem> {
        if text.contains(['=', '[', '(']) {
            let message = format!("{what} {} cannot be the key of an ini file", quote(text));
            return Err(Problem::file_error(&self.snapshot.dir, message));
        }
        self.value(what, text)
    }

    fn no_device(&self, device: usize) -> Problem {
        Problem::file_error(&self.snapshot.dir, format!("no device has number {device}"))
    }

    fn copy(&self, name: &str, mut bytes: impl Read) -> Result<(PathBuf, u64), Problem> {
        let path = self.snapshot.dir.join(name);
        let mut file = self.folder.create(name)?;
        let size = io::copy(&mut bytes, &mut file).map_err(|error| cannot_write(&path, &error))?;
        Ok((path, size))
    }

    fn files(&self) -> Vec<&str> {
        let buffers = self.snapshot.buffers.iter().map(|buffer| &buffer.path);
        let dumps = self.snapshot.devices.iter().flat_map(|device| &device.dumps).map(|dump| &dump.path);
        let names = buffers.chain(dumps).filter_map(|path| path.file_name()?.to_str());
        let names: BTreeSet<_> = names.collect();
        names.into_iter().collect()
    }
}

fn device_file(number: usize) -> String {
    format!("device_{number}.ini")
}

fn snapshot_text(snapshot: &Snapshot) -> String {
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
fn device_text(device: &mut Device) -> String {
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

fn trace_text(snapshot: &Snapshot) -> String {
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
