//! The processes that were traced, and what was mapped in them.

use std::io::Write;

use serde_json::{Value, json};
use tracewright_input::{Mapping, Process, ProcessThread};

use super::wrap;
use crate::json::address;
use crate::terminal::width;
use tracewright::names;

/// Processes, and mappings of each, shown one by one.
const MOST: usize = 12;

/// Each process with its mappings.
pub fn text(out: &mut impl Write, processes: &[Process]) -> std::io::Result<()> {
    for Process { pid, command, threads, mappings } in processes.iter().take(MOST) {
        let head = format!("process {pid}: {command}");
        writeln!(out)?;
        for (i, line) in wrap(&head, width() - 4).iter().enumerate() {
            writeln!(out, "{}{line}", if i == 0 { "" } else { "  " })?;
        }
        let named: Vec<_> = threads.iter().filter(|thread| thread.tid != *pid).map(named).collect();
        if !named.is_empty() {
            let more = match named.len().saturating_sub(MOST) {
                0 => String::new(),
                more => format!(" and {more} more (all with --json)"),
            };
            let line = format!("threads {}{more}", named[..named.len().min(MOST)].join(", "));
            for (i, line) in wrap(&line, width() - 6).iter().enumerate() {
                writeln!(out, "{}{line}", if i == 0 { "  " } else { "    " })?;
            }
        }
        for Mapping { start, end, path, build_id, .. } in mappings.iter().take(MOST) {
            let path = path.as_ref().map_or("no file".into(), |path| path.display().to_string());
            writeln!(out, "  {start:#014x}..{end:#014x}  {}", names::tail(&path, width() - 34))?;
            if let Some(id) = build_id {
                writeln!(out, "    build ID {}", names::tail(id, width() - 14))?;
            }
        }
        if let Some(more) = mappings.len().checked_sub(MOST).filter(|more| *more > 0) {
            writeln!(out, "  and {more} more (all with --json)")?;
        }
    }
    if let Some(more) = processes.len().checked_sub(MOST).filter(|more| *more > 0) {
        writeln!(out, "\nand {more} more processes (all with --json)")?;
    }
    Ok(())
}

/// `1235 worker`.
fn named(thread: &ProcessThread) -> String {
    format!("{} {}", thread.tid, thread.name).trim_end().to_owned()
}

/// One object for each process.
pub fn json(processes: &[Process]) -> Value {
    let mapping = |mapping: &Mapping| {
        json!({
            "address": address(mapping.start),
            "end": address(mapping.end),
            "offset": mapping.offset,
            "file": mapping.path.as_ref().map(|path| path.display().to_string()),
            "build_id": mapping.build_id,
        })
    };
    let process = |process: &Process| {
        let mappings: Vec<_> = process.mappings.iter().map(mapping).collect();
        let name = |name: &String| Some(name.clone()).filter(|name| !name.is_empty());
        let threads = process.threads.iter();
        let threads: Vec<_> =
            threads.map(|thread| json!({ "tid": thread.tid, "name": name(&thread.name) })).collect();
        json!({ "pid": process.pid, "command": process.command, "threads": threads, "mappings": mappings })
    };
    processes.iter().map(process).collect()
}
