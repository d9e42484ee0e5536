//! Captures in any form: sources, and buffers that hold their bytes.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use tracewright_core::TraceId;
use tracewright_etm as etm;
use tracewright_image::{Bytes, Moment};

use crate::debuginfod::Debuginfod;
use crate::folder::Checksums;
use crate::mapping::{self, Process};
use crate::packing::Packing;
use crate::perf::{self, RecordedPrograms};
use crate::program::ImageFile;
use crate::raw::{ETM_REGISTERS, RawSource};
use crate::registry;
use crate::ring::Ring;
use crate::snapshot::{self, Device, DeviceClass, Dump, Snapshot};
use crate::source::{Protocol, Source};
use crate::{Architecture, CoreKind, CoreProfile, Problem, file, folder};

/// Recording: what was traced, and the files with its trace.
#[derive(Debug, Default)]
pub struct Capture {
    /// Path of the capture.
    pub path: PathBuf,
    /// Description by its maker.
    pub description: Option<String>,
    /// All trace sources.
    pub sources: Vec<Source>,
    /// All trace buffers.
    pub buffers: Vec<Buffer>,
    /// Memory contents of the capture; a region that several cores name is listed once.
    pub memory: Vec<Dump>,
    /// Code that the capture itself has, as it ran: addresses and bytes.
    pub code: Vec<(u64, Bytes)>,
    /// Programs of the capture.
    pub programs: Vec<Program>,
    /// Traced processes with their mappings.
    pub processes: Vec<Process>,
    /// Programs of processes whose mappings changed over time.
    pub recorded: Option<Box<RecordedPrograms>>,
    /// Servers to ask for programs and debug files that are not here; none unless it is set.
    pub debuginfod: Option<Debuginfod>,
    /// Checksums of its files from when it was written, if known.
    pub checksums: Checksums,
    /// Problems of the capture. Reading continued in spite of them.
    pub problems: Vec<Problem>,
}

/// Program file of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// File, and its address.
    pub file: ImageFile,
    /// File offset that `file.at` refers to; without it, `file.at` is the address of the first mapping.
    pub offset: Option<u64>,
    /// Build ID when it ran, in hexadecimal.
    pub build_id: Option<String>,
}

/// File with trace bytes, or parts of one.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Name in the capture.
    pub name: String,
    /// Path of the file; `-` is standard input.
    pub path: PathBuf,
    /// Packing of the bytes.
    pub format: Packing,
    /// Indices of the sources that wrote into it.
    pub sources: Vec<usize>,
    /// Parts of the file that are trace, in file order; `None` if the whole file is one part.
    pub pieces: Option<Vec<Piece>>,
    /// Contents of the file, if it is compressed and has pieces: they are read at any place.
    pub contents: Option<Bytes>,
    /// The ring in the file, if it is one. `contents` has what was written after the ring's end behind it.
    pub ring: Option<Ring>,
}

/// Part of a file that is trace. It is not continuous with the parts before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Offset in the file; for compressed trace, the offset in the buffer that the hardware filled.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
    /// Time and writer.
    pub moment: Moment,
    /// Place of the compressed bytes, if it is compressed.
    pub packed: Option<Packed>,
}

/// Place of compressed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Offset of the compressed bytes in the file.
    pub offset: u64,
    /// Number of compressed bytes.
    pub len: u64,
    /// Number of unpacked bytes before the piece begins.
    pub skip: u64,
}

impl Buffer {
    /// Returns the number of trace bytes, if the file's size can be read.
    pub fn bytes(&self) -> Option<u64> {
        match &self.pieces {
            Some(pieces) => Some(pieces.iter().fold(0, |sum, piece| sum.saturating_add(piece.len))),
            // A compressed file would have to be unpacked to find out.
            None if file::compression(&self.path).is_some() => None,
            None => self.path.metadata().map(|file| file.len()).ok(),
        }
    }
}

impl Buffer {
    /// Returns the first bytes of the trace, unpacked, `most` at most. Trace that is compressed within its file is left out.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn start(&self, most: usize) -> io::Result<Vec<u8>> {
        let Some(pieces) = &self.pieces else { return file::start_of(&self.path, most) };
        let mut bytes = Vec::new();
        let mut file = if self.contents.is_some() { None } else { Some(file::open_seekable(&self.path)?) };
        for piece in pieces.iter().filter(|piece| piece.packed.is_none()) {
            let room = piece.len.min(most.saturating_sub(bytes.len()) as u64);
            match (&mut file, &self.contents) {
                (Some(file), _) => {
                    file.seek(SeekFrom::Start(piece.offset))?;
                    file.take(room).read_to_end(&mut bytes)?;
                }
                (None, Some(contents)) => {
                    let all = contents.as_slice();
                    let from = usize::try_from(piece.offset).unwrap_or(usize::MAX).min(all.len());
                    bytes.extend(all[from..].iter().take(room as usize));
                }
                (None, None) => {}
            }
        }
        Ok(bytes)
    }
}

impl Capture {
    /// Opens a capture folder, a trace snapshot, or a perf recording (see [`perf::open`], which also takes
    /// folders with programs).
    ///
    /// # Errors
    /// Fails if there is no readable capture; lesser faults are in [`Capture::problems`].
    pub fn open(path: &Path) -> Result<Self, Problem> {
        if perf::is_recording(path) {
            return perf::open(path, &[]);
        }
        let has = |name: &str| {
            let found = path.join(name).try_exists();
            found.map_err(|error| Problem::file_error(path, format!("cannot look into the folder: {error}")))
        };
        if has(folder::CAPTURE_FILE)? {
            return folder::open(path);
        }
        if path.is_dir() && !has("snapshot.ini")? {
            let message = if path.join(folder::CHECKSUMS_FILE).exists() {
                "the recording was cut off before its description (snapshot.ini) was written: record again"
            } else {
                "not a capture: it has neither a capture.toml nor a snapshot.ini (of an Arm trace snapshot)"
            };
            return Err(Problem::file_error(path, message));
        }
        let Snapshot { description, devices, buffers, processes, mut problems, .. } = Snapshot::open(path)?;
        let has_checksums = path.join(folder::CHECKSUMS_FILE).exists();
        let checksums =
            if has_checksums { folder::checksums::read(path, &mut problems) } else { Checksums::default() };
        let core_of = |device: usize| {
            let sources = buffers.iter().flat_map(|buffer| &buffer.sources);
            let core = sources.filter(|source| source.device == device).find_map(|source| source.core)?;
            devices.get(core)
        };
        let mut sources = Vec::new();
        let mut source_of_device = vec![None; devices.len()];
        for (index, device) in devices.iter().enumerate() {
            if device.class == DeviceClass::TraceSource {
                match source(device, core_of(index)) {
                    Ok(source) => {
                        source_of_device[index] = Some(sources.len());
                        sources.push(source);
                    }
                    Err(problem) => problems.push(problem),
                }
            }
        }
        let buffers: Vec<_> = buffers
            .iter()
            .map(|buffer| {
                // Unframed bytes belong to the first source, whether it can be decoded or not.
                let unframed = buffer.format == Packing::Source;
                let all = buffer.sources.iter().take(if unframed { 1 } else { usize::MAX });
                let sources = all.filter_map(|source| source_of_device.get(source.device).copied().flatten());
                Buffer {
                    name: buffer.name.clone(),
                    path: buffer.path.clone(),
                    format: buffer.format,
                    sources: sources.collect(),
                    pieces: None,
                    contents: None,
                    ring: None,
                }
            })
            .collect();
        for buffer in &buffers {
            check_ids(path, buffer, &sources, &mut problems);
        }
        let mut seen = HashSet::new();
        let dumps = devices.into_iter().flat_map(|device| device.dumps);
        let place = |dump: &Dump| (dump.path.clone(), dump.address, dump.offset, dump.space);
        let memory = dumps.filter(|dump| seen.insert(place(dump))).collect();
        let programs = mapping::programs(path, &processes);
        let mut capture = Self {
            path: path.into(),
            description,
            sources,
            buffers,
            memory,
            programs,
            processes,
            checksums,
            problems,
            ..Self::default()
        };
        capture.check_lengths();
        capture.unroll_rings();
        Ok(capture.note_protocols())
    }

    /// Makes a capture of a raw trace file, which does not describe itself.
    ///
    /// # Errors
    /// Fails if the sources contradict each other or the format.
    pub fn raw(path: &Path, format: Packing, sources: &[RawSource]) -> Result<Self, Problem> {
        let problem = |message: &str| Err(Problem::file_error(path, message));
        if sources.is_empty() {
            return problem(
                "no source given: a trace cannot be read without the parameters of its source; name them with --source \
                 (`tracewright info FILE` tells what fits)",
            );
        }
        if format != Packing::Source
            && let Some(name) = sources.iter().find_map(RawSource::unframed)
        {
            return problem(&format!("{name} is not read from frames, and has no --packing"));
        }
        let has_etm = sources.iter().any(|source| matches!(source, RawSource::Etm(_)));
        if has_etm && sources.iter().any(|source| matches!(source, RawSource::Etrace(_))) {
            return problem("sources of ETM and E-Trace cannot be in one file");
        }
        if !format.is_framed() && sources.len() > 1 && (has_etm || format.is_sampled()) {
            return problem("several sources given for a file that holds only one source's bytes");
        }
        let mut ids = HashSet::new();
        let described: Vec<_> = sources.iter().map(RawSource::protocol).collect();
        let is_shared = !format.is_framed() || format == Packing::CoreSightNexus;
        let mut shared = described.iter().filter(|_| is_shared);
        if let Some(first) = shared.next()
            && let Some(what) = shared.find_map(|other| first.differs(other))
        {
            return problem(&format!("sources in one file are built alike: these differ in {what}"));
        }
        for source in sources {
            match source {
                RawSource::Etm(source) => {
                    let id = source.params.id();
                    if format.is_framed() && !(0x01..=0x6f).contains(&id.get()) {
                        return problem(&format!("id={id}: a source in frames has an ID from 0x01 to 0x6f"));
                    }
                    if !ids.insert(u16::from(id.get())) {
                        return problem(&format!("two sources with trace ID {id}"));
                    }
                }
                RawSource::Etrace(source) => {
                    if !ids.insert(source.source) {
                        return problem(&format!("two sources with id={:#x}", source.source));
                    }
                }
                RawSource::Registered(params) => {
                    if !ids.insert(params.id()) {
                        return problem(&format!("two sources with id={:#x}", params.id()));
                    }
                }
            }
        }
        let sources = sources.iter().zip(described).enumerate().map(|(i, (raw, protocol))| {
            let source = Source::new(format!("source{i}"), protocol);
            match raw {
                RawSource::Etm(raw) => Source {
                    core: raw.core.clone().map(|core| (format!("core{i}"), core)),
                    registers: raw.registers.clone(),
                    ..source
                },
                RawSource::Etrace(_) | RawSource::Registered(_) => source,
            }
        });
        let sources: Vec<_> = sources.collect();
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let all = (0..sources.len()).collect();
        let path = PathBuf::from(path);
        let buffer = Buffer {
            name,
            path: path.clone(),
            format,
            sources: all,
            pieces: None,
            contents: None,
            ring: None,
        };
        let mut capture = Self { path, sources, buffers: vec![buffer], ..Self::default() };
        capture.unroll_rings();
        match capture.problems.pop() {
            Some(problem) => Err(problem),
            None => Ok(capture.note_protocols()),
        }
    }

    /// Warns, once, about sources that were recorded as ETMv4 and are ETEs.
    pub(crate) fn note_protocols(mut self) -> Self {
        let is_other = |source: &&Source| match &source.protocol {
            Protocol::Etm(params) => params.protocol() != params.declared(),
            _ => false,
        };
        let names: Vec<_> = self.sources.iter().filter(is_other).map(|source| &*source.name).collect();
        let message = match names[..] {
            [] => return self,
            [name] => format!("{name} was recorded as ETMv4"),
            [name, .., last] => format!("{name} to {last} ({} sources) were recorded as ETMv4", names.len()),
        };
        let message = format!("{message}, but TRCIDR1.TRCARCHMAJ is 0xf: read as ETE");
        self.problems.push(Problem::file_warning(&self.path, message));
        self
    }

    /// Reports trace files whose length has changed since the capture was written.
    pub(crate) fn check_lengths(&mut self) {
        let buffers = self.buffers.iter().map(|buffer| &buffer.path);
        let deltas = self.sources.iter().filter_map(|source| source.delta.as_ref());
        let changed = buffers.chain(deltas).filter_map(|path| {
            let how = self.checksums.other_length(path)?;
            Some(Problem::file_error(path, how))
        });
        let changed: Vec<_> = changed.collect();
        self.problems.extend(changed);
    }

    /// Returns whether a RISC-V hart was traced.
    pub fn is_riscv(&self) -> bool {
        self.sources.iter().any(Source::is_riscv)
    }
}

/// Reports sources of a buffer that share a trace ID, because their bytes cannot be told apart.
fn check_ids(path: &Path, buffer: &Buffer, sources: &[Source], problems: &mut Vec<Problem>) {
    let mut firsts = HashMap::new();
    for source in buffer.sources.iter().map(|&source| &sources[source]) {
        let Some(id) = source.id() else { continue };
        let (name, first) = (&source.name, *firsts.entry(id).or_insert(&source.name));
        if !std::ptr::eq(name, first) {
            let message = format!("{name} has the trace ID {id} of {first}: all is read as {first}'s");
            problems.push(Problem::file_error(path, message));
        }
    }
}

fn source(device: &Device, core: Option<&Device>) -> Result<Source, Problem> {
    let protocol = match device.protocol() {
        Some(snapshot::Protocol::Etm4) => {
            Protocol::Etm(etm_params(device, core, etm::Protocol::Etm4)?.into())
        }
        Some(snapshot::Protocol::Ete) => Protocol::Etm(etm_params(device, core, etm::Protocol::Ete)?.into()),
        _ => match registry::of_device(&device.kind) {
            Some(kind) => {
                let registers = device.registers.iter();
                let mut given: Vec<_> = registers
                    .map(|register| (register.name.to_ascii_lowercase(), register.text.clone()))
                    .collect();
                given.extend(
                    core.filter(|_| kind.wants_core()).map(|core| ("core".into(), core.kind.clone())),
                );
                let params = kind.params(&given).map_err(|error| {
                    let message = format!("{}: {error}: the source cannot be read", device.name);
                    Problem::file_error(&device.file, message)
                })?;
                Protocol::Registered(params)
            }
            None => Protocol::Unsupported(device.kind.clone(), other_id(device)),
        },
    };
    let registers = device.registers.iter();
    Ok(Source {
        core: core.map(|core| (core.name.clone(), core.kind.clone())),
        registers: registers.filter_map(|register| Some((register.name.clone(), register.value?))).collect(),
        ..Source::new(device.name.clone(), protocol)
    })
}

/// Returns the trace ID of a source whose protocol is not supported.
fn other_id(device: &Device) -> Option<TraceId> {
    let low = |name| device.register(name).map(|value| TraceId::from_low_bits(value as u8));
    let stimulus = |name| device.register(name).map(|value| TraceId::from_low_bits((value >> 16) as u8));
    low("ETMTRACEIDR").or_else(|| stimulus("STMTCSR")).or_else(|| stimulus("ITMTCR"))
}

fn etm_params(
    device: &Device,
    core: Option<&Device>,
    protocol: etm::Protocol,
) -> Result<etm::Params, Problem> {
    let mut registers = etm::Registers { protocol, ..etm::Registers::default() };
    let mut missing = Vec::new();
    for register in ETM_REGISTERS {
        match device.register(register.name) {
            Some(value) => *(register.field)(&mut registers) = value as u32,
            None if register.mandatory => missing.push(register.name),
            None => {}
        }
    }
    if !missing.is_empty() {
        let message =
            format!("{}: register {} missing: the source cannot be read", device.name, missing.join(", "));
        return Err(Problem::file_error(&device.file, message));
    }
    // A core of unknown type is treated as an Armv8-A; the snapshot reader has warned about it.
    if let Some(kind) = core.and_then(Device::core_kind) {
        (registers.profile, registers.architecture) = for_etm(kind);
    }
    etm::Params::new(&registers).map_err(|error| {
        Problem::file_error(&device.file, format!("{}: {error}: the source cannot be read", device.name))
    })
}

/// Returns the profile and architecture of a core for the packet level.
pub(crate) fn for_etm(kind: CoreKind) -> (CoreProfile, etm::Architecture) {
    let is_v7 = kind.architecture == Architecture::V7;
    (kind.profile, if is_v7 { etm::Architecture::V7 } else { etm::Architecture::V8 })
}
