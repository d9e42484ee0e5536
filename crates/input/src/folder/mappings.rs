//! `mappings.toml`: the threads and mappings of traced processes. It lies beside a snapshot, whose own files
//! cannot express them, or beside a `capture.toml`.
//!
//! ```toml
//! format = 1
//!
//! [[process]]
//! pid = 1234
//! command = "sort"
//!
//! [[process.thread]]
//! tid = 1235
//! name = "worker" # none: unknown
//!
//! [[process.mapping]]
//! start = 0x5500000000
//! end = 0x5500012000
//! offset = 0x0
//! path = "/usr/bin/sort" # none: memory without a file
//! build_id = "5d2b..."
//! ```

use std::fmt::Write;
use std::path::Path;

use super::FORMAT;
use super::read::read as read_text;
use super::value::{Document, Table, Wrong};
use super::write::quoted;
use crate::mapping::{Mapping, Process, ProcessThread};
use crate::output::OutputFolder;
use crate::problem::Problem;

/// Name of the file.
pub(crate) const MAPPINGS_FILE: &str = "mappings.toml";

/// Writes the file, unless there are no processes.
pub(crate) fn write(folder: &OutputFolder, processes: &[Process]) -> Result<(), Problem> {
    match processes.is_empty() {
        true => folder.remove(MAPPINGS_FILE),
        false => folder.replace(MAPPINGS_FILE, text(processes).as_bytes()),
    }
}

fn text(processes: &[Process]) -> String {
    let mut text = String::from("# Which files were mapped where, so that addresses have names.\n");
    // Writing to a string does not fail.
    let _ = writeln!(text, "format = {FORMAT}");
    for Process { pid, command, threads, mappings } in processes {
        let _ = writeln!(text, "\n[[process]]\npid = {pid}\ncommand = {}", quoted(command));
        for ProcessThread { tid, name } in threads {
            let _ = writeln!(text, "\n[[process.thread]]\ntid = {tid}");
            if !name.is_empty() {
                let _ = writeln!(text, "name = {}", quoted(name));
            }
        }
        for Mapping { start, end, offset, path, build_id } in mappings {
            let _ = writeln!(text, "\n[[process.mapping]]\nstart = {start:#x}\nend = {end:#x}");
            let _ = writeln!(text, "offset = {offset:#x}");
            if let Some(path) = path {
                let _ = writeln!(text, "path = {}", quoted(&path.to_string_lossy()));
            }
            if let Some(build_id) = build_id {
                let _ = writeln!(text, "build_id = {}", quoted(build_id));
            }
        }
    }
    text
}

/// Reads the file, if there is one.
pub(crate) fn read(dir: &Path, problems: &mut Vec<Problem>) -> Vec<Process> {
    let file = dir.join(MAPPINGS_FILE);
    if !file.exists() {
        return Vec::new();
    }
    let text = match read_text(&file) {
        Ok(text) => text,
        Err(error) => {
            problems.push(Problem::memory_warning(&file, format!("cannot be read ({error}): no symbols")));
            return Vec::new();
        }
    };
    let (mut document, mut root) = match Document::new(&file, &text, problems) {
        Ok(read) => read,
        Err(problem) => {
            let message = format!("{}: no symbols", problem.message);
            let line = problem.line;
            problems.push(Problem { line, ..Problem::memory_warning(&file, message) });
            return Vec::new();
        }
    };
    let mut document = document.memory();
    match document.number(&mut root, "format") {
        Ok(Some((FORMAT, _))) | Err(Wrong) => {}
        Ok(found) => {
            let line = found.map(|(_, line)| line);
            document.log.error(line, format!("format = {FORMAT} is what this tracewright reads: no symbols"));
            return Vec::new();
        }
    }
    let tables = document.tables(&mut root, "process", "[[process]]");
    document.unknown(root, "format, [[process]]");
    tables.into_iter().filter_map(|table| process(&mut document, table).ok()).collect()
}

fn process(document: &mut Document<'_>, mut table: Table<'_>) -> Result<Process, Wrong> {
    let pid = id(document, &mut table, "pid")?;
    let command = document.string(&mut table, "command")?.map(|(command, _)| command).unwrap_or_default();
    let tables = document.tables(&mut table, "mapping", "[[process.mapping]]");
    let threads = document.tables(&mut table, "thread", "[[process.thread]]");
    document.unknown(table, "pid, command, [[process.thread]], [[process.mapping]]");
    let threads = threads.into_iter().filter_map(|table| thread(document, table).ok()).collect();
    let mappings = tables.into_iter().filter_map(|table| mapping(document, table).ok()).collect();
    Ok(Process { pid, command, threads, mappings })
}

fn thread(document: &mut Document<'_>, mut table: Table<'_>) -> Result<ProcessThread, Wrong> {
    let tid = id(document, &mut table, "tid")?;
    let name = document.string(&mut table, "name")?.map(|(name, _)| name).unwrap_or_default();
    document.unknown(table, "tid, name");
    Ok(ProcessThread { tid, name })
}

/// Reads the ID of a process or thread; 0 if there is none.
fn id(document: &mut Document<'_>, table: &mut Table<'_>, key: &str) -> Result<u32, Wrong> {
    let line = table.line;
    let id = document.number(table, key)?.map_or(0, |(id, _)| id);
    document.good(u32::try_from(id).map_err(|_| (line, format!("{key} {id} is none"))))
}

fn mapping(document: &mut Document<'_>, mut table: Table<'_>) -> Result<Mapping, Wrong> {
    let line = table.line;
    let start = document.number(&mut table, "start")?.map(|(start, _)| start);
    let end = document.number(&mut table, "end")?.map(|(end, _)| end);
    let offset = document.number(&mut table, "offset")?.map_or(0, |(offset, _)| offset);
    let path = document.string(&mut table, "path")?.map(|(path, _)| path.into());
    let build_id = document.string(&mut table, "build_id")?.map(|(id, _)| id.to_ascii_lowercase());
    document.unknown(table, "start, end, offset, path, build_id");
    let range = start.zip(end).filter(|(start, end)| start < end);
    let missing = || (line, "a mapping has a start, and an end behind it: passed over".to_owned());
    let (start, end) = document.good(range.ok_or_else(missing))?;
    Ok(Mapping { start, end, offset, path, build_id })
}
