use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::text;
use super::{Buffer, Device, DeviceClass, Dump, MemorySpace, Register, Snapshot, SourceRef};
use crate::folder::{CAPTURE_FILE, checksums, mappings};
use crate::ini;
use crate::mapping::Process;
use crate::output::{OutputFolder, cannot_write};
use crate::packing::Packing;
use crate::problem::{Problem, quote};

/// Writes a snapshot folder, which OpenCSD's tools open too.
///
/// Memory and trace go to disk as they come; [`finish`](Self::finish) writes the text files and proves them by
/// reading them back. Before that the folder has no `snapshot.ini`, so a half-written one is not taken for good.
///
/// Errors are [`Problem`]s that name the file that could not be written.
#[derive(Debug)]
pub struct SnapshotWriter {
    folder: OutputFolder,
    /// What reading the folder will give, but for line numbers.
    snapshot: Snapshot,
    /// Files with memory that devices may share, and their sizes.
    memory: Vec<(PathBuf, u64)>,
}

impl SnapshotWriter {
    /// Starts a snapshot in the folder `dir`, which is made if it is not there. Files of an earlier snapshot that
    /// are in the way are replaced.
    ///
    /// # Errors
    /// When the folder cannot be made or [claimed](OutputFolder::claim), or an earlier capture's description in it not be removed.
    pub fn create(dir: &Path) -> Result<Self, Problem> {
        let folder = OutputFolder::claim(dir)?;
        // First of all: it tells that this is a recording of ours, which is not finished.
        checksums::write_unfinished(&folder)?;
        folder.remove("snapshot.ini")?;
        // It would be read instead.
        folder.remove(CAPTURE_FILE)?;
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
    ///
    /// # Errors
    /// When an ini file cannot hold the text.
    pub fn describe(&mut self, text: &str) -> Result<(), Problem> {
        self.snapshot.description = Some(self.value("description", text)?);
        Ok(())
    }

    /// Adds a core: a unique name, a [type](super::CoreKind::of), registers. Gives its number.
    ///
    /// # Errors
    /// When an ini file cannot hold one of the texts.
    pub fn core(&mut self, name: &str, kind: &str, registers: &[(&str, u64)]) -> Result<usize, Problem> {
        self.device(DeviceClass::Core, name, kind, registers)
    }

    /// Adds a trace source: a unique name, a [type](super::Protocol::of), registers. Gives its number.
    ///
    /// # Errors
    /// When an ini file cannot hold one of the texts.
    pub fn source(&mut self, name: &str, kind: &str, registers: &[(&str, u64)]) -> Result<usize, Problem> {
        self.device(DeviceClass::TraceSource, name, kind, registers)
    }

    /// Adds memory that device number `device` saw: all that `bytes` gives, from `address` on.
    ///
    /// # Errors
    /// When there is no such device, or the bytes cannot be read or written.
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

    /// Adds a file with memory that several devices may see, each by [`see`](Self::see). Gives its number.
    ///
    /// # Errors
    /// When the bytes cannot be read or written.
    pub fn memory(&mut self, bytes: impl Read) -> Result<usize, Problem> {
        let number = self.memory.len();
        let file = self.copy(&format!("memory_{number}.bin"), bytes)?;
        self.memory.push(file);
        Ok(number)
    }

    /// Says that device number `device` saw at `address` the `length` bytes that are at `offset` in [`memory`](Self::memory) file
    /// number `file`.
    ///
    /// # Errors
    /// When there is no such device, or the file does not have these bytes.
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

    /// Adds a process that was traced, with what was mapped in it: `mappings.toml`, which only tracewright reads.
    pub fn process(&mut self, process: Process) {
        self.snapshot.processes.push(process);
    }

    /// Adds a trace buffer that is written while it is traced: a unique name, a format. Gives its number, and the file for its
    /// bytes with where it is.
    ///
    /// # Errors
    /// When an ini file cannot hold the name, or the file cannot be made.
    pub fn open_buffer(&mut self, name: &str, format: Packing) -> Result<(usize, PathBuf, File), Problem> {
        let name = self.buffer_name(name, format)?;
        let number = self.snapshot.buffers.len();
        let file = format!("buffer_{number}.bin");
        let path = self.snapshot.dir.join(&file);
        let file = self.folder.create(&file)?;
        self.snapshot.buffers.push(Buffer { name, path: path.clone(), size: 0, format, sources: Vec::new() });
        Ok((number, path, file))
    }

    /// Adds a trace buffer with all that `bytes` gives: a unique name, a format. Gives its number.
    ///
    /// # Errors
    /// When an ini file cannot hold the name, or the bytes cannot be read or written.
    pub fn buffer(&mut self, name: &str, format: Packing, bytes: impl Read) -> Result<usize, Problem> {
        let name = self.buffer_name(name, format)?;
        let number = self.snapshot.buffers.len();
        let (path, size) = self.copy(&format!("buffer_{number}.bin"), bytes)?;
        self.snapshot.buffers.push(Buffer { name, path, size, format, sources: Vec::new() });
        Ok(number)
    }

    fn buffer_name(&self, name: &str, format: Packing) -> Result<String, Problem> {
        let message = || format!("packing {} cannot be in a snapshot", format.name());
        format.in_snapshots().ok_or_else(|| Problem::file_error(&self.snapshot.dir, message()))?;
        self.value("buffer name", name)
    }

    /// Says that source number `source` wrote to buffer number `buffer` what it saw of core number `core`. A
    /// source writes to one buffer; a core may have several sources.
    ///
    /// # Errors
    /// When there is no such buffer or device.
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

    /// Writes the text files, reads the folder and gives what was read, which has no problems.
    ///
    /// # Errors
    /// When a file cannot be written, or for the first thing that makes the folder a bad snapshot: names used
    /// twice, memory that overlaps, unknown types, empty or unconnected buffers...
    pub fn finish(mut self) -> Result<Snapshot, Problem> {
        for (number, device) in self.snapshot.devices.iter_mut().enumerate() {
            self.folder.replace(&device_file(number), text::device(device).as_bytes())?;
        }
        let dir = &self.snapshot.dir;
        self.folder.replace("trace.ini", text::trace(&self.snapshot).as_bytes())?;
        mappings::write(&self.folder, &self.snapshot.processes)?;
        // What was written as it came is as long as it is now.
        for buffer in &mut self.snapshot.buffers {
            let metadata = fs::metadata(&buffer.path).map_err(|error| cannot_write(&buffer.path, &error))?;
            buffer.size = metadata.len();
        }
        checksums::write(&self.folder, &self.files())?;
        self.folder.replace("snapshot.ini", text::snapshot(&self.snapshot).as_bytes())?;
        let read = Snapshot::open(dir)?;
        match read.problems.first() {
            Some(problem) => Err(problem.clone()),
            None if read != self.snapshot => {
                Err(Problem::file_error(dir, "what was written reads back as something else"))
            }
            None => Ok(read),
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

    /// `text`, if an ini file gives it back as the value of a key.
    fn value(&self, what: &str, text: &str) -> Result<String, Problem> {
        let special = |c: char| c.is_control() || ";#".contains(c);
        if text.is_empty() || text.trim() != text || ini::unquote(text) != text || text.contains(special) {
            let message = format!("{what} {} cannot be written to an ini file", quote(text));
            return Err(Problem::file_error(&self.snapshot.dir, message));
        }
        Ok(text.to_owned())
    }

    /// `text`, if an ini file gives it back as a key.
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

    /// Returns the names of the files with trace and memory.
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
