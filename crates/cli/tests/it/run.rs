//! The command, run as people run it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tracewright_testkit::qemu::Folder;

/// The folder of the repository, in which it runs.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command with these arguments.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tracewright"));
    command.args(arguments).current_dir(root());
    command
}

/// Runs it.
pub fn tracewright(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the command runs")
}

/// What it wrote to standard output.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it wrote to standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A path, as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder that is removed when the test is over, and the paths of things in it. Tests add to it what they record there.
pub struct Place(Folder);

impl Place {
    pub fn new() -> Self {
        Self(Folder::new().unwrap())
    }

    /// The path of `name` in it, as an argument.
    pub fn path(&self, name: &str) -> String {
        text(&self.0.path().join(name)).to_owned()
    }
}
