use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the folder of real recordings beside the repository, if it exists. Tests that need it report a skip if it does not.
pub fn captures() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3)?;
    let captures = root.join("shared/captures");
    captures.is_dir().then_some(captures)
}

/// A folder of the real recordings, if they are there. Else says that `test` is skipped.
pub fn captures_for(test: &str, folder: &str) -> Option<PathBuf> {
    let captures = captures();
    if captures.is_none() {
        skip(test, "no shared captures");
    }
    captures.map(|captures| captures.join(folder).components().collect())
}

/// Whether all of these programs are here. If not, says that `test` is skipped.
pub fn has_programs(test: &str, programs: &[&str]) -> bool {
    let is_missing = |program: &&&str| Command::new(program).arg("--version").output().is_err();
    let missing = programs.iter().find(is_missing);
    if let Some(program) = missing {
        skip(test, &format!("no {program}"));
    }
    missing.is_none()
}

/// A text file, unpacked by the `xz` program. If that is not possible, says that `test` is skipped, and why.
pub fn unpacked(test: &str, path: &Path) -> Option<String> {
    unpacked_bytes(test, path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The same of a file that is no text.
pub fn unpacked_bytes(test: &str, path: &Path) -> Option<Vec<u8>> {
    let why = match Command::new("xz").arg("-dc").arg(path).output() {
        Ok(output) if output.status.success() => return Some(output.stdout),
        Ok(output) => format!("xz: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => format!("cannot run xz: {error}"),
    };
    skip(test, &why);
    None
}

/// Says in one line that a test was skipped, and why. Not by a print macro: the test runner would hide that when the test
/// passes.
pub fn skip(test: &str, why: &str) {
    let _ = writeln!(io::stderr(), "skipped: {test}: {why}");
}
