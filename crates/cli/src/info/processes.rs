//! The processes that were traced, and what was mapped in them.

use std::io::Write;

use serde_json::{Value, json};
use tracewright_input::{Mapping, Process};

use super::wrap;
use tracewright::names;

/// Processes, and mappings of each, shown one by one.
const MOST: usize = 12;

/// Each process with its mappings.
pub fn text(out: &mut impl Write, processes: &[Process]) -> std::io::Result<()> {
    for Process { pid, command, mappings } in processes.iter().take(MOST) {
        let head = format!("process {pid}: {command}");
        writeln!(out)?;
        for (i, line) in wrap(&head, 76).iter().enumerate() {
            writeln!(out, "{}{line}", if i == 0 { "" } else { "  " })?;
        }
        for Mapping { start, end, path, build_id, .. } in mappings.iter().take(MOST) {
            let path = path.as_ref().map_or("no file".into(), |path| path.display().to_string());
            writeln!(out, "  {start:#014x}..{end:#014x}  {}", names::tail(&path, 46))?;
            if let Some(id) = build_id {
                writeln!(out, "    build ID {}", names::tail(id, 66))?;
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

/// One object for each process.
pub fn json(processes: &[Process]) -> Value {
    let mapping = |mapping: &Mapping| {
        json!({
            "start": format!("{:#x}", mapping.start),
            "end": format!("{:#x}", mapping.end),
            "offset": format!("{:#x}", mapping.offset),
            "file": mapping.path.as_ref().map(|path| path.display().to_string()),
            "build_id": mapping.build_id,
        })
    };
    let process = |process: &Process| {
        let mappings: Vec<_> = process.mappings.iter().map(mapping).collect();
        json!({ "pid": process.pid, "command": process.command, "mappings": mappings })
    };
    processes.iter().map(process).collect()
}
