use std::io::Write;
use std::path::Path;

use serde_json::json;
use tracewright_capture::retirement::{LogCounts, ThreadCounts};
use tracewright_core::text::Printable;
use tracewright_qemu::read::Log;

use super::open;
use crate::json::line;
use crate::output::{Error, Outcome, Output, printable_path, report};
use crate::record::grouped;
use crate::table::TableArgs;
use crate::terminal::width;
use tracewright::csv::Csv;
use tracewright::names;

/// Columns before the name of a mapping.
const NUMBERS: usize = 36;

/// Shows what a retirement log holds, by thread and by mapping.
pub fn stats(path: &Path, thread: Option<u32>, table: TableArgs) -> Result<Outcome, Error> {
    let mut log = open(path)?;
    let counts = LogCounts::new(&mut log, thread);
    if counts.threads.is_empty() {
        let what = thread.map_or("no thread".into(), |thread| format!("no thread {thread}"));
        return Err(Error::Message(format!("{}: the log has {what}", path.display())));
    }
    let mut out = Output::stdout(table.form());
    if table.is_csv() {
        out.write_all(rows(&counts).as_bytes())?;
    } else if table.json {
        out.write_all(line("stats", json(path, &log, &counts)).as_bytes())?;
    } else {
        text(&mut out, path, &log, &counts)?;
    }
    out.flush()?;
    for problem in &counts.problems {
        report(&format!("{}: {problem}", path.display()));
    }
    Ok(Outcome::lacks("damage", !counts.problems.is_empty()))
}

fn text(out: &mut impl Write, path: &Path, log: &Log, counts: &LogCounts) -> std::io::Result<()> {
    let count = log.definitions().translations().len() as u64;
    writeln!(
        out,
        "retirement log {}: {}, {} translations",
        printable_path(path),
        log.header().target.name(),
        grouped(count)
    )?;
    writeln!(
        out,
        "  thread {:>17} {:>15} {:>10} {:>13} {:>8}",
        "instructions", "blocks", "traps", "bytes", "bits/i"
    )?;
    let all = counts.all();
    let sum = (counts.threads.len() > 1).then_some(&all);
    for of in counts.threads.iter().chain(sum) {
        let ThreadCounts { index, totals, blocks, traps } = of;
        let name = index.map_or("all".into(), |index| index.to_string());
        writeln!(
            out,
            "  {name:<6} {:>17} {:>15} {:>10} {:>13} {:>8.4}",
            grouped(totals.instructions),
            grouped(*blocks),
            grouped(*traps),
            grouped(totals.bytes),
            of.bits()
        )?;
    }
    writeln!(out, "  instructions by mapping")?;
    for (name, instructions) in &counts.files {
        let share = 100.0 * *instructions as f64 / all.totals.instructions.max(1) as f64;
        let name = names::cut(&Printable(name).to_string(), width() - NUMBERS);
        writeln!(out, "  {:>24} {share:>6.2}%  {name}", grouped(*instructions))?;
    }
    Ok(())
}

/// A row for each thread.
fn rows(counts: &LogCounts) -> String {
    let mut csv = Csv::new("thread,instructions,blocks,traps,translations,bytes,bits_per_instruction");
    for of in &counts.threads {
        let ThreadCounts { index, totals, blocks, traps } = of;
        csv.row([
            (*index).into(),
            totals.instructions.into(),
            (*blocks).into(),
            (*traps).into(),
            totals.translations.into(),
            totals.bytes.into(),
            of.bits().into(),
        ]);
    }
    csv.finish()
}

fn json(path: &Path, log: &Log, counts: &LogCounts) -> serde_json::Value {
    let threads = counts.threads.iter().map(|of| {
        let ThreadCounts { index, totals, blocks, traps } = of;
        json!({
            "thread": index, "instructions": totals.instructions, "blocks": blocks, "traps": traps,
            "translations": totals.translations, "bytes": totals.bytes, "bits_per_instruction": of.bits(),
        })
    });
    let mappings = counts.files.iter();
    let mappings = mappings.map(|(name, instructions)| json!({"file": name, "instructions": instructions}));
    json!({
        "log": path.display().to_string(), "kind": "retirement", "processor": log.header().target.name(),
        "translations": log.definitions().translations().len(),
        "threads": threads.collect::<Vec<_>>(), "mappings": mappings.collect::<Vec<_>>(),
    })
}
