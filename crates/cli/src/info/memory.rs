//! The memory images of a capture, and of files that people name.

use std::io::Write;

use serde_json::{Value, json};
use tracewright_image::{Image, Kind, RegionRef, Remark};

use super::wrap;
use crate::json::address;
use crate::terminal::{END, HEADING, width};
use tracewright::names;

/// Regions, files and remarks shown one by one.
const MOST: usize = 12;

/// The regions of `image`, its ELF files, and remarks about it.
pub fn text(out: &mut impl Write, image: &Image, remarks: &[&Remark]) -> std::io::Result<()> {
    let count = image.regions().count();
    if count > 0 {
        let total = image.regions().fold(0u64, |total, region| total.saturating_add(length(&region)));
        let plural = if count == 1 { "" } else { "s" };
        writeln!(out, "\n{HEADING}memory{END}: {count} region{plural}, {total} bytes")?;
        let last = image.regions().take(MOST).map(|region| region.range().end).max().unwrap_or(0);
        let digits = (64 - last.leading_zeros() as usize).div_ceil(4).max(8);
        writeln!(out, "{HEADING}  {:<1$}  space  kind      file{END}", "addresses", 2 * digits + 6)?;
        for region in image.regions().take(MOST) {
            let (range, space) = (region.range(), region.space().to_string());
            let addresses = format!("{:#0w$x}..{:#0w$x}", range.start, range.end, w = digits + 2);
            let (kind, name) = (
                kind(&region),
                names::tail(names::file_name(region.name()), width().saturating_sub(27 + 2 * digits)),
            );
            writeln!(out, "  {addresses}  {space:<5}  {kind:<8}  {name}")?;
        }
        more(out, count)?;
    }
    let files = elf_files(image);
    for region in files.iter().take(MOST) {
        writeln!(
            out,
            "\n{HEADING}ELF file {}{END}",
            names::tail(names::file_name(region.name()), width() - 9)
        )?;
        let id = region.build_id().map_or("none".into(), hex);
        for (i, line) in wrap(&id, width() - 12).iter().enumerate() {
            writeln!(out, "  {:<8}  {line}", if i == 0 { "build ID" } else { "" })?;
        }
        let has = |has: bool| if has { "yes" } else { "no" };
        writeln!(out, "  symbols   {}", has(region.has_symbols()))?;
        writeln!(out, "  lines     {}", has(region.has_lines()))?;
    }
    more(out, files.len())?;
    if !remarks.is_empty() {
        writeln!(out, "\n{HEADING}remarks on memory{END}")?;
        for remark in remarks.iter().take(MOST) {
            for (i, line) in wrap(&remark.to_string(), width() - 4).iter().enumerate() {
                writeln!(out, "  {}{line}", if i == 0 { "" } else { "  " })?;
            }
        }
        more(out, remarks.len())?;
    }
    Ok(())
}

fn more(out: &mut impl Write, count: usize) -> std::io::Result<()> {
    match count.checked_sub(MOST) {
        None | Some(0) => Ok(()),
        Some(more) => writeln!(out, "  and {more} more (all with --json)"),
    }
}

/// One object for each region.
pub fn json(image: &Image) -> Value {
    let regions = image.regions().map(|region| {
        let elf = (region.kind() == Kind::Elf).then(|| {
            json!({
                "build_id": region.build_id().map(hex),
                "has_symbols": region.has_symbols(),
                "has_lines": region.has_lines(),
            })
        });
        json!({
            "file": region.name(),
            "address": address(region.range().start),
            "bytes": length(&region),
            "space": region.space().to_string(),
            "executable": region.executable(),
            "kind": if elf.is_some() { "ELF" } else { "raw" },
            "elf": elf,
        })
    });
    regions.collect()
}

fn length(region: &RegionRef<'_>) -> u64 {
    region.range().end - region.range().start
}

fn kind(region: &RegionRef<'_>) -> &'static str {
    match (region.kind(), region.executable()) {
        (Kind::Raw, _) => "raw",
        (Kind::Elf, true) => "ELF code",
        (Kind::Elf, false) => "ELF data",
    }
}

/// A region of each ELF file. One given twice is one.
fn elf_files(image: &Image) -> Vec<RegionRef<'_>> {
    let mut files: Vec<RegionRef<'_>> = Vec::new();
    for region in image.regions().filter(|region| region.kind() == Kind::Elf) {
        if !files.iter().any(|file| file.name() == region.name()) {
            files.push(region);
        }
    }
    files
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
