//! A source's retirement-delta trace, in words.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use tracewright_delta::{Config, Decoder, Item};
use tracewright_input::file::{size, start_of};

use crate::output::printable_path;

/// Bytes in which a stream has its first sync; a ring that was cut, within two periods.
const BEGIN: usize = 1 << 13;

/// What it is made with, as its first sync says; and how many bytes it has.
fn look(path: &Path) -> (Option<Config>, Option<u64>) {
    let bytes = start_of(path, BEGIN).unwrap_or_default();
    let mut items: Vec<Item> = Vec::new();
    Decoder::new().feed(&bytes, &mut items);
    let config = items.iter().find_map(|item| match item {
        Item::Sync { sync, .. } => Some(sync.config),
        _ => None,
    });
    (config, size(path).ok())
}

/// For people.
pub fn text(out: &mut impl Write, path: &Path) -> std::io::Result<()> {
    let (config, bytes) = look(path);
    let size = bytes.map_or("unknown size".into(), |bytes| format!("{bytes} bytes"));
    writeln!(out, "  delta trace: the cycle of each instruction, {size}")?;
    let format = match (config, bytes) {
        (Some(config), _) => format!("{config}, {}", if config.is_exact() { "exact" } else { "not exact" }),
        (None, Some(0)) => "empty: nothing retired".into(),
        (None, _) => "unknown: it has no sync where it begins".into(),
    };
    writeln!(out, "    format   {format}")?;
    writeln!(out, "    file     {}", printable_path(path))
}

/// The same as values.
pub fn json(path: &Path) -> Value {
    let (config, bytes) = look(path);
    json!({
        "file": path.display().to_string(),
        "bytes": bytes,
        "format": config.map(|config| config.to_string()),
        "exact": config.map(|config| config.is_exact()),
    })
}
