//! What a file may be that does not describe itself.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use tracewright::FileKind;
use tracewright::survey::{Evidence, Fit, FoundSource, Survey, from_byte};

use tracewright_input::folder::CAPTURE_FILE;

use crate::json::line;
use crate::output::{Error, Form, Outcome, Output, printable_path};
use crate::terminal::width;

/// Shows how a raw trace file may be read.
pub fn info(path: &Path, as_json: bool) -> Result<Outcome, Error> {
    let survey = tracewright::survey::survey(path)?;
    let mut out = Output::stdout(Form::json_if(as_json));
    if as_json {
        out.write_all(line("info", json(path, &survey)).as_bytes())?;
    } else if !survey.fits.is_empty() {
        text(&mut out, path, &survey)?;
    }
    out.flush()?;
    match survey.fits.is_empty() {
        true => Err(Error::Message(format!(
            "{} {}; nothing in its {} bytes looks like trace that tracewright knows",
            path.display(),
            FileKind::Unknown,
            survey.bytes
        ))),
        false => Ok(Outcome::default()),
    }
}

fn text(out: &mut impl Write, path: &Path, survey: &Survey) -> std::io::Result<()> {
    writeln!(out, "raw trace file {}: {} bytes", printable_path(path), survey.bytes)?;
    for (number, fit) in survey.fits.iter().enumerate() {
        let how = if number == 0 { "looks like" } else { "or like" };
        let after = match fit.skip {
            0 => String::new(),
            1 => ", after the first byte".into(),
            skip => format!(", after the first {skip} bytes"),
        };
        let bit =
            fit.samples_per_bit.map_or(String::new(), |samples| format!(", {samples:.1} samples a bit"));
        writeln!(out, "\n{how} {}{bit}{after}", fit.packing.words())?;
        let is_chance = |source: &&FoundSource| source.syncs == 0 && source.bytes < survey.bytes / 100;
        for source in fit.sources.iter().filter(|source| !is_chance(source)) {
            let id = source.id.map_or("all".into(), |id| format!("ID {:#04x}", id.get()));
            writeln!(out, "  {id:<8} {:>12} bytes  {}", source.bytes, speaks(source))?;
            if let Some(why) = source.speaks.as_ref().and_then(|speaks| speaks.evidence) {
                writeln!(out, "{:11}{}", "", reasons(&why))?;
            }
        }
        let others = fit.sources.iter().filter(is_chance);
        let (ids, bytes) = others.fold((0, 0), |(ids, bytes), of| (ids + 1, bytes + of.bytes));
        if ids > 0 {
            writeln!(out, "  {:<8} {bytes:>12} bytes  of {ids} more IDs", "")?;
        }
        if fit.lost > 0 {
            writeln!(out, "  {:<8} {:>12} bytes  of no source", "", fit.lost)?;
        }
        if let Some(options) = fit.options() {
            match fit.skip {
                0 => tried(out, &options)?,
                skip => {
                    let words = from_byte(path, skip + 1);
                    tried(out, &format!("{words} | tracewright decode - {options}"))?;
                }
            }
        }
    }
    if let Some(folder) = path.parent().filter(|folder| folder.join(CAPTURE_FILE).is_file()) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        writeln!(
            out,
            "\nThe folder has a capture that may describe it:\n  tracewright info {}",
            printable_path(folder)
        )?;
    }
    let mut kinds = survey.fits.iter().flat_map(|fit| &fit.sources).filter_map(FoundSource::description);
    match kinds.next() {
        Some(source) if source.contains("isa=") => {
            writeln!(out, "\nThe trace does not tell the parameters of its encoder: those left out of")?;
            writeln!(out, "--source are a guess.")?;
        }
        Some(_) => {
            writeln!(out, "\nThe trace does not tell all registers that --source takes: your driver or")?;
            writeln!(out, "debugger knows them. ETMv4 and ETE look alike if nothing new is used.")?;
        }
        None => {}
    }
    Ok(())
}

/// Writes what to type: in lines that fit, each but the last with a backslash at its end. A line may end after a comma, so the next one
/// begins at its first column.
fn tried(out: &mut impl Write, words: &str) -> std::io::Result<()> {
    let mut line = String::from("  try      ");
    for part in words.split_inclusive([' ', ',']) {
        if line.len() + part.len() >= width() {
            writeln!(out, "{line}\\")?;
            line.clear();
        }
        line += part;
    }
    writeln!(out, "{line}")
}

fn speaks(source: &FoundSource) -> String {
    let FoundSource { speaks, syncs, .. } = source;
    let Some(speaks) = speaks else { return "no synchronisation point found".into() };
    format!("{}: {}", speaks.name, counted(*syncs, "synchronisation point"))
}

fn reasons(why: &Evidence) -> String {
    let Evidence { plausible, implausible, .. } = *why;
    let per_mille = why.per_mille();
    let packets = format!("{}.{} % of the bytes are packets", per_mille / 10, per_mille % 10);
    match plausible + implausible {
        0 => packets,
        all => format!("{packets}; {plausible} of {} make sense", counted(all, "I-Sync")),
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn json(path: &Path, survey: &Survey) -> Value {
    let source = |source: &FoundSource| {
        let speaks = source.speaks.as_ref();
        let why = speaks.and_then(|speaks| speaks.evidence).map(|why| {
            json!({
                "synchronisations": why.syncs, "bytes_parsed": why.parsed, "bytes_unparsed": why.unparsed,
                "plausible": why.plausible, "implausible": why.implausible,
            })
        });
        json!({
            "id": source.id.map(tracewright_core::TraceId::get), "bytes": source.bytes,
            "protocol": speaks.map(|speaks| speaks.name), "synchronisations": source.syncs, "evidence": why,
            "source": source.description(),
        })
    };
    let fit = |fit: &Fit| {
        json!({
            "packing": fit.packing.name(), "skip": fit.skip, "sources": fit.sources.iter().map(source).collect::<Vec<_>>(),
            "samples_per_bit": fit.samples_per_bit, "bytes_lost": fit.lost, "options": fit.options(),
        })
    };
    json!({
        "file": path.display().to_string(), "bytes": survey.bytes,
        "fits": survey.fits.iter().map(fit).collect::<Vec<_>>(),
    })
}
