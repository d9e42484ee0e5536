use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The folder of real recordings beside the repository, if it is there. Tests that need it say so when it is not.
pub fn captures() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3)?;
    let captures = root.join("shared/captures");
    captures.is_dir().then_some(captures)
}

/// Says in one line that a test was skipped, and why. Not by a print macro: the test runner would hide that when the test
/// passes.
pub fn skip(test: &str, why: &str) {
    let _ = writeln!(io::stderr(), "skipped: {test}: {why}");
}
