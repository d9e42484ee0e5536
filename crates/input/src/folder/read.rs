use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use tracewright_etrace::decode::Handler;
use tracewright_etrace::stream::{Config, Encapsulation};
use tracewright_etrace::{Options, data};

use super::value::{Document, Table, Wrong};
use super::{CAPTURE_FILE, Checksums, FORMAT, checksums, mappings};
use crate::capture::{Buffer, Capture, Program};
use crate::etrace::{self, EtraceSource, Field, Group, encapsulation, isa_named};
use crate::file::{existing, read_plain, size};
use crate::packing::Packing;
use crate::problem::{Problem, quote};
use crate::program::ImageFile;
use crate::registry;
use crate::snapshot::{Dump, MemorySpace};
use crate::source::{Protocol, Source};

/// Most bytes of `capture.toml`.
const MAX_BYTES: u64 = 4 << 20;

pub(crate) fn open(dir: &Path) -> Result<Capture, Problem> {
    let file = dir.join(CAPTURE_FILE);
    let text = read(&file).map_err(|error| Problem::file_error(&file, format!("cannot read: {error}")))?;
    let mut problems = Vec::new();
    let (mut document, mut root) = Document::new(&file, &text, &mut problems)?;
    match document.number(&mut root, "format") {
        Ok(Some((FORMAT, _))) | Err(Wrong) => {}
        Ok(Some((other, line))) => {
            let message = format!("format {other}: this tracewright reads format {FORMAT}; use a newer one");
            return Err(Problem { line: Some(line), ..Problem::file_error(&file, message) });
        }
        Ok(None) => document.log.error(None, format!("format = {FORMAT} is missing: is this a capture?")),
    }
    let description = document.string(&mut root, "description").ok().flatten().map(|(text, _)| text);
    if let Ok(Some((false, line))) = document.flag(&mut root, "finished") {
        document.log.error(line, "the recording was not finished: what is there is read, its end is missing");
    }
    let has_checksums = matches!(document.string(&mut root, "checksums"), Ok(Some(_)) | Err(Wrong));
    let sources = sources(&mut document, &mut root, dir);
    let buffers = buffers(&mut document, &mut root, dir, &sources);
    let (programs, memory) = images(&mut document, &mut root, dir);
    document.unknown(root, "format, description, finished, checksums, [[source]], [[buffer]], [[image]]");
    let checksums = if has_checksums { checksums::read(dir, &mut problems) } else { Checksums::default() };
    let processes = mappings::read(dir, &mut problems);
    let mut capture = Capture {
        path: dir.into(),
        description,
        processes,
        sources,
        buffers,
        memory,
        programs,
        checksums,
        problems,
        ..Capture::default()
    };
    capture.check_lengths();
    capture.unroll_rings();
    Ok(capture)
}

pub(super) fn read(file: &Path) -> io::Result<String> {
    let bytes = read_plain(file, MAX_BYTES)?;
    // Invalid UTF-8 is reported by the reader of the value that contains it.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn sources(document: &mut Document<'_>, root: &mut Table<'_>, dir: &Path) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for table in document.tables(root, "source", "[[source]]") {
        let line = table.line;
        match source(document, table, dir, &sources) {
            Ok(source) => sources.push(source),
            Err(Wrong) => document.log.error(line, "the source is skipped: repair what is wrong with it"),
        }
    }
    sources
}

fn source(
    document: &mut Document<'_>,
    mut table: Table<'_>,
    dir: &Path,
    before: &[Source],
) -> Result<Source, Wrong> {
    let line = table.line;
    let name = document.string(&mut table, "name")?;
    let (name, name_line) = name.unwrap_or_else(|| (format!("source{}", before.len()), line));
    if before.iter().any(|source| source.name == name) {
        document.log.error(name_line, format!("another source has the name {}, too", quote(&name)));
        return Err(Wrong);
    }
    let thread = document.number(&mut table, "thread")?;
    let thread =
        thread.map(|(tid, line)| u32::try_from(tid).map_err(|_| (line, format!("thread {tid} is none"))));
    let thread = thread.map(|thread| document.good(thread)).transpose()?;
    let (protocol, delta) = match document.string(&mut table, "protocol")? {
        Some((protocol, _)) if protocol == "etrace" => {
            let delta = delta_file(document, &mut table, dir);
            (Protocol::Etrace(Box::new(etrace_source(document, table)?)), delta)
        }
        Some((other, line)) => match registry::named(&other) {
            Some(kind) => {
                let given: Vec<_> =
                    document.rest(table)?.into_iter().map(|(name, text, _)| (name, text)).collect();
                let params = kind.params(&given).map_err(|error| (line, error.to_string()));
                (Protocol::Registered(document.good(params)?), None)
            }
            // The keys of an unknown protocol are not checked.
            None => (Protocol::Unsupported(other, None), None),
        },
        None => {
            document.log.error(line, "protocol is missing: expected \"etrace\", \"ntrace\" or \"tacit\"");
            return Err(Wrong);
        }
    };
    Ok(Source { delta, thread, ..Source::new(name, protocol) })
}

/// Returns the path of a source's retirement-delta trace. Everything else can be read without it.
fn delta_file(document: &mut Document<'_>, table: &mut Table<'_>, dir: &Path) -> Option<PathBuf> {
    let without = "cycles of instructions will not be known";
    let line = table.line;
    let (file, line) = match document.string(table, "delta") {
        Ok(found) => found?,
        Err(Wrong) => {
            document.log.error(line, format!("the delta trace is skipped: {without}"));
            return None;
        }
    };
    let path = dir.join(&file);
    match plain_file(&path) {
        Ok(_) => Some(path),
        Err(why) => {
            document.log.error(line, format!("delta {}: {why}: {without}", quote(&file)));
            None
        }
    }
}

fn etrace_source(document: &mut Document<'_>, mut table: Table<'_>) -> Result<EtraceSource, Wrong> {
    let line = table.line;
    let isa = match document.string(&mut table, "isa")? {
        None => Err((line, "isa is missing: expected \"rv32\" or \"rv64\"".to_owned())),
        Some((name, line)) => isa_named(&name)
            .ok_or_else(|| (line, format!("isa {}: expected \"rv32\" or \"rv64\"", quote(&name)))),
    };
    let source = match document.number(&mut table, "id")? {
        None => Ok(0),
        Some((id, line)) => u16::try_from(id).map_err(|_| (line, format!("id {id}: expected 0 to 0xffff"))),
    };
    let isa = document.good(isa)?;
    let source = document.good(source)?;
    let handlers = handlers(document, &mut table)?;
    let encapsulation = encapsulation_of(document, &mut table)?;
    let (options, data) = (Options::default(), data::Options::default());
    let mut config = Config { params: etrace::params_for(isa), encapsulation, options, data };
    for (key, group) in
        [("params", Group::Params), ("options", Group::Options), ("data_options", Group::Data)]
    {
        let Some(table) = document.table(&mut table, key, key)? else { continue };
        for (name, text, line) in document.rest(table)? {
            match Field::of(group, name.strip_suffix("_p").unwrap_or(&name)) {
                None => document.log.warning(line, format!("{key} has no {}: passed over", quote(&name))),
                Some(field) => {
                    document
                        .good(field.put(&mut config, &text).map_err(|error| (line, error.to_string())))?;
                }
            }
        }
    }
    document.unknown(
        table,
        "name, protocol, id, isa, handlers, delta, encapsulation, params, options, data_options",
    );
    document.good(config.check().map_err(|error| (line, error.to_string())))?;
    Ok(EtraceSource { config, source, isa, handlers })
}

fn handlers(document: &mut Document<'_>, table: &mut Table<'_>) -> Result<Vec<Handler>, Wrong> {
    let Some((texts, line)) = document.strings(table, "handlers")? else { return Ok(Vec::new()) };
    let handlers: Result<_, _> = texts.iter().map(|text| etrace::handler_named(text)).collect();
    document.good(handlers.map_err(|error| (line, format!("handlers: {error}"))))
}

fn encapsulation_of(document: &mut Document<'_>, table: &mut Table<'_>) -> Result<Encapsulation, Wrong> {
    let line = table.line;
    let Some(mut table) = document.table(table, "encapsulation", "encapsulation")? else {
        let message = "encapsulation is missing: expected { kind = \"standard\", \"smi\" or \"pulp\" }";
        document.log.error(line, message);
        return Err(Wrong);
    };
    let line = table.line;
    let kind = document.string(&mut table, "kind")?.map_or(String::new(), |(kind, _)| kind);
    let mut parts = [None; 3];
    for (part, (name, ..)) in parts.iter_mut().zip(encapsulation::PARTS) {
        *part = document.number(&mut table, name)?.map(|(value, _)| value);
    }
    document.unknown(table, "kind, source_bits, timestamp_bytes, type_bits");
    document.good(encapsulation::named(&kind, parts).map_err(|error| (line, error)))
}

fn buffers(document: &mut Document<'_>, root: &mut Table<'_>, dir: &Path, sources: &[Source]) -> Vec<Buffer> {
    let mut buffers: Vec<Buffer> = Vec::new();
    for table in document.tables(root, "buffer", "[[buffer]]") {
        let line = table.line;
        match buffer(document, table, dir, sources, &buffers) {
            Ok(buffer) => buffers.push(buffer),
            Err(Wrong) => document.log.error(line, "the buffer is skipped: repair what is wrong with it"),
        }
    }
    buffers
}

fn buffer(
    document: &mut Document<'_>,
    mut table: Table<'_>,
    dir: &Path,
    sources: &[Source],
    before: &[Buffer],
) -> Result<Buffer, Wrong> {
    let line = table.line;
    let name = document.string(&mut table, "name")?;
    let file = document.string(&mut table, "file")?;
    let named = document.strings(&mut table, "sources")?;
    document.unknown(table, "name, file, sources");
    let (file, file_line) = document.good(file.ok_or_else(|| (line, "file is missing".to_owned())))?;
    let name = name.map_or_else(|| file.clone(), |(name, _)| name);
    if before.iter().any(|buffer| buffer.name == name) {
        document.log.error(line, format!("another buffer has the name {}, too", quote(&name)));
        return Err(Wrong);
    }
    let path = dir.join(&file);
    document.good(plain_file(&path).map_err(|why| (file_line, format!("{}: {why}", quote(&file)))))?;
    let wanted = match named {
        None => (0..sources.len()).collect(),
        Some((names, line)) => with_names(document, &names, line, sources),
    };
    let sources = together(document, line, &name, &wanted, sources);
    Ok(Buffer { name, path, format: Packing::Source, sources, pieces: None, contents: None, ring: None })
}

/// Returns the indices of the sources that a buffer names.
fn with_names(document: &mut Document<'_>, names: &[String], line: u32, sources: &[Source]) -> Vec<usize> {
    let by_name: HashMap<&str, usize> =
        sources.iter().enumerate().map(|(index, source)| (source.name.as_str(), index)).collect();
    let mut found = Vec::new();
    for name in names {
        match by_name.get(name.as_str()) {
            Some(index) if found.contains(index) => {}
            Some(&index) => found.push(index),
            None => {
                let message = format!("no source has the name {} and can be read: left out", quote(name));
                document.log.error(line, message);
            }
        }
    }
    found
}

/// Returns those of a buffer's sources that can share it: equal parameters, different IDs.
fn together(
    document: &mut Document<'_>,
    line: u32,
    buffer: &str,
    wanted: &[usize],
    sources: &[Source],
) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    let mut first: Option<&Protocol> = None;
    let mut by_id: HashMap<u16, &str> = HashMap::new();
    for &index in wanted {
        let source = &sources[index];
        if source.names_sources() {
            let why = match first.get_or_insert(&source.protocol).differs(&source.protocol) {
                Some(what) => Some(format!("has other {what} than those before it")),
                None => by_id
                    .insert(source.number().unwrap_or(0), &source.name)
                    .map(|other| format!("has the ID of {}", quote(other))),
            };
            if let Some(why) = why {
                let name = quote(&source.name);
                document.log.error(line, format!("buffer {}: source {name} {why}: left out", quote(buffer)));
                continue;
            }
        }
        kept.push(index);
    }
    kept
}

fn images(document: &mut Document<'_>, root: &mut Table<'_>, dir: &Path) -> (Vec<Program>, Vec<Dump>) {
    let tables = document.tables(root, "image", "[[image]]");
    let mut document = document.missing_code();
    let (mut programs, mut memory) = (Vec::new(), Vec::new());
    for table in tables {
        let line = table.line;
        match image(&mut document, table, dir) {
            Ok(Image::Program(program)) => programs.push(program),
            Ok(Image::Piece(dump)) => memory.push(dump),
            Err(Wrong) => document.log.error(line, "the image is skipped: its code will be missing"),
        }
    }
    (programs, memory)
}

enum Image {
    /// Whole file.
    Program(Program),
    /// Part of a file of raw bytes.
    Piece(Dump),
}

fn image(document: &mut Document<'_>, mut table: Table<'_>, dir: &Path) -> Result<Image, Wrong> {
    let line = table.line;
    let file = document.string(&mut table, "file")?;
    let at = document.number(&mut table, "address")?.map(|(at, _)| at);
    let offset = document.number(&mut table, "offset")?.map(|(offset, _)| offset);
    let length = document.number(&mut table, "length")?.map(|(length, _)| length);
    let build_id = document.string(&mut table, "build_id")?.map(|(id, _)| id.to_ascii_lowercase());
    document.unknown(table, "file, address, build_id, offset, length");
    let (file, line) = document.good(file.ok_or_else(|| (line, "file is missing".to_owned())))?;
    let path = dir.join(&file);
    let size = document.good(plain_file(&path).map_err(|why| (line, format!("{}: {why}", quote(&file)))))?;
    if offset.is_none() && length.is_none() {
        return Ok(Image::Program(Program { file: ImageFile { path, at }, offset: None, build_id }));
    }
    let Some(address) = at else {
        document.log.error(line, "a part of a file (offset, length) has an address");
        return Err(Wrong);
    };
    let offset = offset.unwrap_or(0);
    let length = length.unwrap_or(size.saturating_sub(offset));
    let is_inside = offset.checked_add(length).is_some_and(|end| end <= size) && length > 0;
    if !is_inside || address.checked_add(length - 1).is_none() {
        let message =
            format!("{}: {length} bytes at offset {offset} are not in it ({size} bytes)", quote(&file));
        document.log.error(line, message);
        return Err(Wrong);
    }
    Ok(Image::Piece(Dump { path, address, length, offset, space: MemorySpace::ANY, line }))
}

/// Returns the size of a file, if it exists and is not empty.
fn plain_file(path: &Path) -> Result<u64, String> {
    match std::fs::metadata(existing(path)) {
        Ok(metadata) if metadata.is_file() => size(path).map_err(|error| format!("cannot read: {error}")),
        Ok(_) => Err("not a plain file".into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err("no such file".into()),
        Err(error) => Err(format!("cannot read: {error}")),
    }
}
