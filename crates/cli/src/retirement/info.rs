use std::io::Write;
use std::path::Path;

use serde_json::json;
use tracewright_core::text::Printable;
use tracewright_qemu::format::{Header, LogData, Off};
use tracewright_qemu::read::{Error as ReadError, Log, Map};

use super::{end_words, hex, open};
use crate::json::{address, line};
use crate::output::{Error, Form, Outcome, Output, printable_path, report};
use crate::record::grouped;

/// A thread, and what it came to.
struct Thread {
    index: u32,
    tid: Option<u32>,
    instructions: u64,
    end: Result<Option<Off>, ReadError>,
}

/// Shows what a retirement log holds.
pub fn info(path: &Path, as_json: bool) -> Result<Outcome, Error> {
    let mut log = open(path)?;
    let mut threads = Vec::new();
    for index in log.threads().collect::<Vec<_>>() {
        let end = log.read(index, &mut ());
        let tid = log.definitions().tid(index);
        threads.push(Thread { index, tid, instructions: log.totals().instructions, end });
    }
    let problems: Vec<_> = log
        .damage()
        .into_iter()
        .chain(threads.iter().filter_map(|thread| thread.end.as_ref().err()))
        .collect();
    let mut out = Output::stdout(Form::json_if(as_json));
    if as_json {
        out.write_all(line("info", json(path, &log, &threads, &problems)).as_bytes())?;
    } else {
        text(&mut out, path, &log, &threads)?;
    }
    out.flush()?;
    for problem in &problems {
        report(&format!("{}: {problem}", path.display()));
    }
    Ok(Outcome::lacks("damage", !problems.is_empty()))
}

fn text(out: &mut impl Write, path: &Path, log: &Log, threads: &[Thread]) -> std::io::Result<()> {
    let (header, definitions) = (log.header(), log.definitions());
    writeln!(out, "retirement log {}", printable_path(path))?;
    writeln!(out, "  processor  {} (plugin interface {} of QEMU)", header.target.name(), header.api)?;
    let parent = match header.forked_from {
        0 => String::new(),
        parent => format!(", forked from {parent}"),
    };
    writeln!(out, "  process    {}{parent}", header.pid)?;
    if !definitions.command().is_empty() {
        writeln!(out, "  command    {}", Printable(&definitions.command().join(" ")))?;
    }
    writeln!(out, "  recorded   {}", recorded(header))?;
    let instructions: u64 = definitions.translations().iter().map(|of| u64::from(of.count)).sum();
    let count = definitions.translations().len() as u64;
    writeln!(out, "  code       {} translations, {} instructions", grouped(count), grouped(instructions))?;
    writeln!(out, "\nthreads")?;
    for Thread { index, tid, instructions, end } in threads {
        let tid = tid.map_or("unknown".into(), |tid| tid.to_string());
        let end = end.as_ref().map_or("damaged", |off| end_words(*off));
        writeln!(out, "  {index:<4} tid {tid:<9} {:>16} instructions; {end}", grouped(*instructions))?;
    }
    if !definitions.maps().is_empty() {
        writeln!(out, "\nexecutable mappings")?;
    }
    for Map { start, end, offset, path, build_id } in definitions.maps() {
        let path = if path.is_empty() { "memory without a file" } else { path };
        writeln!(out, "  {start:#x}-{end:#x} at {offset:#x} of {}", Printable(path))?;
        if !build_id.is_empty() {
            writeln!(out, "    build ID {}", hex(build_id))?;
        }
    }
    for note in definitions.notes() {
        writeln!(out, "\nnote: {}", Printable(note))?;
    }
    Ok(())
}

fn recorded(header: &Header) -> &'static str {
    match header.data {
        LogData::Nothing => "what was executed",
        LogData::Addresses => "what was executed, and the addresses that it accessed",
        LogData::Values => "what was executed, and what it accessed, with values",
    }
}

fn json(path: &Path, log: &Log, threads: &[Thread], problems: &[&ReadError]) -> serde_json::Value {
    let (header, definitions) = (log.header(), log.definitions());
    let threads = threads.iter().map(|thread| {
        let off = thread.end.as_ref().ok().map(|off| end_words(*off));
        json!({
            "thread": thread.index, "tid": thread.tid, "instructions": thread.instructions,
            "ended": off.unwrap_or("damaged"), "complete": matches!(thread.end, Ok(Some(_))),
        })
    });
    let maps = definitions.maps().iter().map(|map| {
        json!({
            "address": address(map.start), "end": address(map.end),
            "offset": map.offset, "file": (!map.path.is_empty()).then_some(&map.path),
            "build_id": (!map.build_id.is_empty()).then(|| hex(&map.build_id)),
        })
    });
    json!({
        "log": path.display().to_string(), "kind": "retirement", "processor": header.target.name(),
        "plugin_interface": header.api, "pid": header.pid,
        "forked_from": (header.forked_from != 0).then_some(header.forked_from),
        "began_nanoseconds": header.time, "command": definitions.command(),
        "accesses": header.data != LogData::Nothing, "values": header.data == LogData::Values,
        "translations": definitions.translations().len(),
        "threads": threads.collect::<Vec<_>>(), "mappings": maps.collect::<Vec<_>>(),
        "notes": definitions.notes(), "problems": problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
