//! Static configuration files (`.scf`) of the reference flow: `name_p=value` lines; `#` begins a comment,
//! `[headings]` are ignored.

use std::path::Path;

use tracewright_etrace::Params;

use crate::file::read_text;

/// Reads all attributes in a file into `params`.
pub(super) fn read(path: &Path, params: &mut Params) -> Result<(), String> {
    let text = read_text(path).map_err(|error| format!("params={}: cannot read: {error}", path.display()))?;
    let mut any = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some((name, value)) = line.split_once('=') else { continue };
        params
            .set(name.trim(), value)
            .map_err(|error| format!("{}:{}: {error}", path.display(), number + 1))?;
        any = true;
    }
    if any { Ok(()) } else { Err(format!("params={}: no attribute (name_p=value) in it", path.display())) }
}
