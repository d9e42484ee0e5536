//! The command, run as people run it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tracewright_testkit::Scratch;

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

/// Starts it with pipes to and from it.
pub fn piped(arguments: &[&str]) -> Child {
    let mut command = command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs it.
pub fn tracewright(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the command runs")
}

/// Runs it. It must end with this status. Returns what it wrote to standard output and error.
#[track_caller]
pub fn ends(status: i32, arguments: &[&str]) -> (String, String) {
    let output = tracewright(arguments);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// Runs it. It must end well. Returns what it wrote to standard output.
#[track_caller]
pub fn good(arguments: &[&str]) -> String {
    ends(0, arguments).0
}

/// Runs it. It must end well. Returns the value that it wrote.
#[track_caller]
pub fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&good(arguments)).unwrap()
}

/// Runs it likewise. Programs without an operating system end in an endless loop, of which E-Trace does not tell how often it turned:
/// that is said, and is no more than said.
#[track_caller]
pub fn good_or_bounded(arguments: &[&str]) -> (String, String) {
    let output = tracewright(arguments);
    let status = i32::from(stderr(&output).contains(" lower bound"));
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// Records a program of ours, or the one with this path, as E-Trace, with more options. Returns the capture.
#[track_caller]
pub fn recorded(folder: &Scratch, program: &str, more: &[&str]) -> PathBuf {
    let ours = format!("programs/bin/{program}.elf");
    let elf = if program.contains('/') { program } else { &ours };
    let capture = folder.path().join(Path::new(elf).with_extension("run").file_name().unwrap());
    good(&[&["record", "-q", "--protocol", "etrace", "-o", text(&capture)], more, &[elf]].concat());
    capture
}

/// Options of [`recorded`]: the cycle of each instruction.
pub const TIMED: &[&str] = &["--timing", "rocket_like", "--delta"];

/// The cycle and address of each instruction that ran, in a listing of `record`.
pub fn cycles_and_addresses(listing: &str) -> Vec<(u64, u64)> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let cycle = words.next()?.parse().ok()?;
        Some((cycle, u64::from_str_radix(words.next()?, 16).ok()?))
    };
    listing.lines().filter_map(row).collect()
}

/// The value in a file.
pub fn value(path: impl AsRef<Path>) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The values in lines.
pub fn values(lines: &str) -> impl Iterator<Item = Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap())
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
