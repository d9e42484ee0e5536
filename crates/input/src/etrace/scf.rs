//! Attributes in a static configuration file (`.scf`), as the reference flow has them: `name_p=value` lines, `#` begins a comment,
//! `[headings]` mean nothing.

use std::path::Path;

use tracewright_etrace::stream::Config;

use super::field::Field;

/// Takes all attributes in a file that decide how a trace is read. Others, of filters and interfaces, are passed over.
pub(super) fn read(path: &Path, config: &mut Config) -> Result<(), String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("params={}: cannot read: {error}", path.display()))?;
    let mut any = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some((name, value)) = line.split_once('=') else { continue };
        let (name, value) = (name.trim(), value.trim());
        if let Some(field) = name.strip_suffix("_p").and_then(|_| Field::named(name)) {
            field
                .put(config, value)
                .map_err(|error| format!("{}:{}: {error}", path.display(), number + 1))?;
            any = true;
        }
    }
    if any { Ok(()) } else { Err(format!("params={}: no attribute (name_p=value) in it", path.display())) }
}
