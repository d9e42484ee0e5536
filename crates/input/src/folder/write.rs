use std::fmt::Write;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tracewright_core::text::is_unprintable;
use tracewright_etrace::decode::Handler;

use super::mappings::{self, MAPPINGS_FILE};
use super::{CAPTURE_FILE, CHECKSUMS_FILE, FORMAT, checksums};
use crate::capture::Capture;
use crate::etrace::{self, Group, encapsulation};
use crate::file::open_plain;
use crate::mapping::Process;
use crate::output::{OutputFolder, Replace, cannot_write};
use crate::problem::Problem;
use crate::program::build_id;
use crate::registry::Entry;
use crate::source::Protocol;

/// Writer of a capture folder.
///
/// Trace goes to disk as it comes. `capture.toml` exists as soon as a buffer does, and marks the recording as
/// unfinished, so that a capture whose recorder was killed can be read. [`finish`](Self::finish) replaces it,
/// adds checksums, and verifies both by reading them back.
///
/// # Errors
/// All functions fail if a file cannot be read or written, or if there is no source with a given number.
///
/// ```
/// use std::io::Write;
/// use tracewright_core::Isa;
/// use tracewright_etrace::{Options, Params, data, stream};
/// use tracewright_input::{Capture, CaptureWriter, EtraceSource};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = std::env::temp_dir().join(format!("tracewright-capture-doc-{}", std::process::id()));
/// let (options, data) = (Options::default(), data::Options::default());
/// let encapsulation = stream::Encapsulation::Smi;
/// let config = stream::Config { params: Params::default(), encapsulation, options, data };
/// let mut writer = CaptureWriter::create(&dir)?;
/// let hart = writer.source("hart0", EtraceSource { config, source: 0, isa: Isa::Rv64, handlers: Vec::new() });
/// let (_, mut file) = writer.buffer("trace", &[hart])?;
/// file.write_all(&[0x42, 0x77, 0x00])?;
/// writer.finish()?;
///
/// let capture = Capture::open(&dir)?;
/// assert_eq!(capture.sources[0].name, "hart0");
/// assert!(capture.problems.is_empty());
/// # std::fs::remove_dir_all(&dir).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CaptureWriter {
    folder: OutputFolder,
    description: Description,
    processes: Vec<Process>,
    /// File names in use.
    taken: Vec<String>,
}

impl CaptureWriter {
    /// Starts a capture in the folder `dir`. An earlier capture there is replaced when this one is complete.
    ///
    /// # Errors
    /// Fails if the folder cannot be created or [claimed](OutputFolder::claim).
    pub fn create(dir: &Path) -> Result<Self, Problem> {
        Self::within(OutputFolder::claim(dir, Replace::SameKind)?)
    }

    /// Starts a capture in a claimed folder.
    pub fn within(folder: OutputFolder) -> Result<Self, Problem> {
        let taken = [CAPTURE_FILE, CHECKSUMS_FILE, MAPPINGS_FILE].map(str::to_owned).to_vec();
        let writer = Self { folder, description: Description::default(), processes: Vec::new(), taken };
        writer.write_description()?;
        Ok(writer)
    }

    fn write_description(&self) -> Result<(), Problem> {
        self.folder.replace(CAPTURE_FILE, self.description.text().as_bytes())
    }

    /// Sets the description: free text.
    pub fn describe(&mut self, text: &str) {
        self.description.description = Some(text.to_owned());
    }

    /// Reserves a file name: images with that name get another one.
    pub fn reserve(&mut self, name: &str) {
        self.taken.push(name.to_owned());
    }

    /// Sets the trap handlers of the source with this number.
    pub fn handlers(&mut self, source: usize, handlers: Vec<Handler>) {
        if let Some(SourceEntry { protocol: Protocol::Etrace(source), .. }) =
            self.description.sources.get_mut(source)
        {
            source.handlers = handlers;
        }
    }

    /// Sets the thread that the source with this number traces.
    pub fn thread(&mut self, source: usize, tid: u32) {
        if let Some(entry) = self.description.sources.get_mut(source) {
            entry.thread = Some(tid);
        }
    }

    /// Adds a traced process.
    pub fn process(&mut self, process: Process) {
        self.processes.push(process);
    }

    /// Adds a source with a unique name. Returns its number.
    pub fn source(&mut self, name: &str, source: impl Into<Protocol>) -> usize {
        self.description.sources.push(SourceEntry {
            name: name.to_owned(),
            protocol: source.into(),
            delta: None,
            thread: None,
        });
        self.description.sources.len() - 1
    }

    /// Adds the retirement-delta trace of the source with this number. Returns path and file for its bytes.
    pub fn delta(&mut self, source: usize) -> Result<(PathBuf, File), Problem> {
        let name = self.free_name("delta.bin");
        let path = self.folder.path().join(&name);
        let Some(SourceEntry { delta, .. }) = self.description.sources.get_mut(source) else {
            return Err(Problem::file_error(&path, format!("there is no source {source}")));
        };
        let made = self.folder.trace(&name)?;
        *delta = Some(name);
        self.write_description()?;
        Ok((path, made))
    }

    /// Adds a buffer with a unique name, written by the sources with these numbers. Returns path and file for
    /// its bytes.
    pub fn buffer(&mut self, name: &str, sources: &[usize]) -> Result<(PathBuf, File), Problem> {
        let file = self.free_name(&format!("{name}.bin"));
        let path = self.folder.path().join(&file);
        let made = self.folder.trace(&file)?;
        self.description.buffers.push((name.to_owned(), file, sources.to_vec()));
        self.write_description()?;
        Ok((path, made))
    }

    /// Adds a copy of a program file. `at` is as in [`ImageFile`](crate::ImageFile).
    pub fn image(&mut self, path: &Path, at: Option<u64>) -> Result<(), Problem> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = self.free_name(&name);
        let copy = self.folder.path().join(&name);
        let build_id = build_id(path)?;
        // When a program is recorded again from its own folder, the file is already there.
        let is_link = fs::symlink_metadata(&copy).is_ok_and(|found| found.is_symlink());
        let same = || Some(fs::canonicalize(path).ok()? == fs::canonicalize(&copy).ok()?);
        if is_link || same() != Some(true) {
            let mut from = open_plain(path)
                .map_err(|error| Problem::memory_error(path, format!("cannot read: {error}")))?;
            let mut to = self.folder.create(&name)?;
            io::copy(&mut from, &mut to).map_err(|error| cannot_write(&copy, &error))?;
        }
        self.description.images.push((name, at, build_id));
        self.write_description()
    }

    /// Adds memory that no program file holds, such as a boot ROM: pieces with their addresses, all in one
    /// file.
    pub fn dump(&mut self, name: &str, pieces: &[(u64, Vec<u8>)]) -> Result<(), Problem> {
        let name = self.free_name(&format!("{name}.bin"));
        let bytes: Vec<u8> = pieces.iter().flat_map(|(_, bytes)| bytes).copied().collect();
        self.folder.replace(&name, &bytes)?;
        let mut offset = 0;
        for (address, bytes) in pieces.iter().filter(|(_, bytes)| !bytes.is_empty()) {
            self.description.pieces.push((name.clone(), *address, offset, bytes.len() as u64));
            offset += bytes.len() as u64;
        }
        Ok(())
    }

    /// Writes checksums and `capture.toml`, and reads the capture back.
    ///
    /// # Errors
    /// Fails if a file cannot be written, or if the capture read back differs.
    pub fn finish(mut self) -> Result<Capture, Problem> {
        checksums::write(&self.folder, &self.description.files())?;
        mappings::write(&self.folder, &self.processes)?;
        self.description.finished = true;
        self.write_description()?;
        let mut capture = super::open(&self.folder.finish()?)?;
        match capture.problems.is_empty() {
            true => Ok(capture),
            false => Err(capture.problems.swap_remove(0)),
        }
    }

    /// Leaves the capture unfinished, with all that is there so far.
    pub fn abandon(self) -> Result<(), Problem> {
        self.write_description()?;
        self.folder.finish().map(drop)
    }

    /// Removes the capture: it is worth nothing.
    pub fn discard(self) {
        self.folder.discard();
    }

    /// Returns an unused file name that is as close to `name` as possible.
    fn free_name(&mut self, name: &str) -> String {
        let is_taken = |name: &str| self.taken.iter().any(|taken| taken.eq_ignore_ascii_case(name));
        let numbered = (2..).map(|number| format!("{number}-{name}"));
        let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !is_taken(name));
        let free = free.unwrap_or_default();
        self.taken.push(free.clone());
        free
    }
}

/// Content of `capture.toml`.
#[derive(Debug, Default)]
struct Description {
    description: Option<String>,
    /// Whether the recording is complete.
    finished: bool,
    sources: Vec<SourceEntry>,
    /// Name, file, and the indices of the sources.
    buffers: Vec<(String, String, Vec<usize>)>,
    /// File, address and build ID.
    images: Vec<(String, Option<u64>, Option<String>)>,
    /// File of raw bytes, address, offset and length.
    pieces: Vec<(String, u64, u64, u64)>,
}

/// Source of a capture that is being written.
#[derive(Debug)]
struct SourceEntry {
    name: String,
    protocol: Protocol,
    /// File with its retirement-delta trace.
    delta: Option<String>,
    /// Thread that it traces.
    thread: Option<u32>,
}

impl Description {
    fn files(&self) -> Vec<&str> {
        let deltas = self.sources.iter().filter_map(|source| source.delta.as_ref());
        let buffers = self.buffers.iter().map(|(_, file, _)| file);
        let images = self.images.iter().map(|(file, ..)| file);
        let mut pieces: Vec<_> = self.pieces.iter().map(|(file, ..)| file).collect();
        pieces.dedup();
        deltas.chain(buffers).chain(images).chain(pieces).map(String::as_str).collect()
    }

    /// Returns the text, with comments on the values that need explanation.
    fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        writeln!(
            text,
            "# A trace, and all that is needed to read it: `tracewright info` takes this folder."
        )?;
        writeln!(text, "format = {FORMAT}")?;
        if let Some(description) = &self.description {
            writeln!(text, "description = {}", quoted(description))?;
        }
        match self.finished {
            true => writeln!(text, "checksums = {}", quoted(CHECKSUMS_FILE))?,
            false => writeln!(text, "finished = false # this is recorded just now, or was cut off")?,
        }
        for SourceEntry { name, protocol, delta, thread } in &self.sources {
            writeln!(text, "\n[[source]]\nname = {}", quoted(name))?;
            let source = match protocol {
                Protocol::Etrace(source) => source,
                Protocol::Registered(params) => {
                    write_entries(text, &params.entries(), *thread)?;
                    continue;
                }
                Protocol::Etm(_) | Protocol::Unsupported(..) => continue,
            };
            writeln!(text, "protocol = \"etrace\"")?;
            writeln!(text, "id = {} # in the stream (srcID)", source.source)?;
            writeln!(text, "isa = {}", quoted(etrace::isa_name(source.isa)))?;
            if !source.handlers.is_empty() {
                let handlers: Vec<_> =
                    source.handlers.iter().map(|handler| quoted(&etrace::handler_text(handler))).collect();
                writeln!(text, "handlers = [{}] # where traps go", handlers.join(", "))?;
            }
            if let Some(delta) = delta {
                writeln!(text, "delta = {} # the cycle of each instruction", quoted(delta))?;
            }
            if let Some(thread) = thread {
                writeln!(text, "thread = {thread}")?;
            }
            let kind = source.config.encapsulation;
            writeln!(text, "\n[source.encapsulation]\nkind = {}", quoted(encapsulation::name(kind)))?;
            for (value, (name, _, meaning)) in
                encapsulation::parts(kind).into_iter().flatten().zip(encapsulation::PARTS)
            {
                writeln!(text, "{name} = {value} # {meaning}")?;
            }
            for (group, key) in
                [(Group::Params, "params"), (Group::Options, "options"), (Group::Data, "data_options")]
            {
                writeln!(text, "\n[source.{key}]")?;
                for field in etrace::fields().filter(|field| field.group == group) {
                    let value = field.text(&source.config);
                    let is_plain = field.is_flag() || field.number(&source.config).is_some();
                    let value = if is_plain { value } else { quoted(&value) };
                    writeln!(text, "{} = {value} # {}", field.name, field.meaning)?;
                }
            }
        }
        for (name, file, sources) in &self.buffers {
            writeln!(text, "\n[[buffer]]\nname = {}\nfile = {}", quoted(name), quoted(file))?;
            let names = sources.iter().filter_map(|&source| self.sources.get(source));
            let names: Vec<_> = names.map(|source| quoted(&source.name)).collect();
            writeln!(text, "sources = [{}]", names.join(", "))?;
        }
        for (file, address, build_id) in &self.images {
            writeln!(text, "\n[[image]]\nfile = {}", quoted(file))?;
            if let Some(address) = address {
                writeln!(text, "address = {address:#x}")?;
            }
            if let Some(build_id) = build_id {
                writeln!(text, "build_id = {}", quoted(build_id))?;
            }
        }
        for (file, address, offset, length) in &self.pieces {
            writeln!(text, "\n[[image]]\nfile = {}\naddress = {address:#x}", quoted(file))?;
            writeln!(text, "offset = {offset:#x}\nlength = {length:#x}")?;
        }
        Ok(())
    }
}

/// Writes the description of a source of a registered kind, but for its name.
fn write_entries(text: &mut String, entries: &[Entry], thread: Option<u32>) -> std::fmt::Result {
    for Entry { name, value, meaning } in entries {
        let value = if value.parse::<u64>().is_ok() { value.clone() } else { quoted(value) };
        writeln!(text, "{name} = {value} # {meaning}")?;
    }
    thread.map_or(Ok(()), |thread| writeln!(text, "thread = {thread}"))
}

pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            _ if is_unprintable(character) => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
