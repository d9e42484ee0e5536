use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Returns the folder of real recordings beside the repository, if it exists. Tests that need it report a skip if it does not.
pub fn captures() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3)?;
    let captures = root.join("shared/captures");
    captures.is_dir().then_some(captures)
}

/// Reports in one line that a test was skipped, and why. A print macro would be hidden by the test runner when the test
/// passes.
pub fn skip(test: &str, why: &str) {
    let _ = writeln!(io::stderr(), "skipped: {test}: {why}");
}
