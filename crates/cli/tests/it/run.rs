//! The command, run as people run it, and what it wrote.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tracewright_testkit::Scratch;

/// Runs the command with a line of arguments: `run!("decode {capture} --json")`.
macro_rules! run {
    ($($line:tt)*) => { $crate::run::ran(&mut $crate::run::command(format_args!($($line)*))) };
}
pub(crate) use run;

/// The folder of the repository, in which it runs.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command with a line of arguments.
pub fn command(line: impl Display) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tracewright"));
    command.args(words(&line.to_string())).current_dir(root());
    // No test asks a server by chance.
    command.env_remove("DEBUGINFOD_URLS");
    command
}

/// The words of a line, as a shell cuts it: what is between single quotes is one. So paths have no spaces here.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in line.split('\'').enumerate() {
        match number % 2 {
            0 => words.extend(part.split_whitespace().map(String::from)),
            _ => words.push(part.into()),
        }
    }
    words
}

/// Starts it with pipes to and from it.
pub fn piped(line: impl Display) -> Child {
    let mut command = command(line);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A run that has ended.
pub struct Ran {
    /// What was run.
    line: String,
    pub status: Option<i32>,
    /// What it wrote to standard output.
    pub out: String,
    /// What it wrote to standard error.
    pub err: String,
}

/// Runs a program that writes text.
#[track_caller]
pub fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    Ran::new(format!("{:?}", command.get_args()), output)
}

impl Ran {
    pub fn new(line: String, output: Output) -> Self {
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        Self { line, status: output.status.code(), out, err }
    }

    /// It must have ended with this status.
    #[track_caller]
    pub fn ends(self, status: i32) -> Self {
        self.ends_within(status..=status)
    }

    /// It must have ended with one of these statuses.
    #[track_caller]
    pub fn ends_within(self, expected: RangeInclusive<i32>) -> Self {
        let is_expected = self.status.is_some_and(|status| expected.contains(&status));
        self.must(is_expected, &format!("status {expected:?}"))
    }

    /// Says what was expected, and all that there was, if it was not so.
    #[track_caller]
    fn must(self, is_so: bool, expected: &str) -> Self {
        let Self { line, status, out, err } = &self;
        let out = || out.chars().take(4000).collect::<String>();
        assert!(is_so, "{line}: expected {expected}; status {status:?}\n{err}\n{}", out());
        self
    }

    /// It must have ended well. Returns what it wrote to standard output.
    #[track_caller]
    pub fn good(self) -> String {
        self.ends(0).out
    }

    /// It must have ended with status 1, and have said that most of what ran has no symbols.
    #[track_caller]
    pub fn nameless(self) -> Self {
        self.ends(1).says("symbols are missing for ")
    }

    /// It must have written this to standard error.
    #[track_caller]
    pub fn says(self, part: impl AsRef<str>) -> Self {
        let is_said = self.err.contains(part.as_ref());
        self.must(is_said, part.as_ref())
    }

    /// It must not have written this to standard error.
    #[track_caller]
    pub fn says_not(self, part: &str) -> Self {
        let is_said = self.err.contains(part);
        self.must(!is_said, &format!("no {part:?}"))
    }

    /// It must have written this to standard output.
    #[track_caller]
    pub fn prints(self, part: impl AsRef<str>) -> Self {
        let is_printed = self.out.contains(part.as_ref());
        self.must(is_printed, part.as_ref())
    }

    /// What it wrote to standard output must begin so.
    #[track_caller]
    pub fn begins(self, part: impl AsRef<str>) -> Self {
        let is_first = self.out.starts_with(part.as_ref());
        self.must(is_first, part.as_ref())
    }

    /// The value that it wrote to standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        let Self { line, out, err, .. } = self;
        serde_json::from_str(out).unwrap_or_else(|error| panic!("{line}: {error}:\n{out}\n{err}"))
    }

    /// A number of the funnel.
    #[track_caller]
    pub fn funnel(&self, name: &str) -> u64 {
        let line = self.err.lines().rfind(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name:?} in\n{}", self.err));
        let digits = line[name.len()..].trim().split("  ").next().unwrap();
        digits.replace(' ', "").parse().unwrap_or_else(|_| panic!("{line}"))
    }
}

/// Recording as E-Trace, before where to.
pub const ETRACE: &str = "record -q --protocol etrace -o";

/// Options of [`recorded`]: the cycle of each instruction.
pub const TIMED: &str = "--timing rocket_like --delta";

/// Records a program of ours, or the one with this path, as E-Trace, with more options. Returns the capture. Arguments of the program
/// follow its name: `sort -- 1000`.
#[track_caller]
pub fn recorded(folder: &Scratch, program: &str, more: &str) -> String {
    let (name, arguments) = program.split_once(' ').unwrap_or((program, ""));
    let elf = elf(name);
    let capture = Path::new(&elf).with_extension("run");
    let capture = folder.join(text(Path::new(capture.file_name().unwrap())));
    run!("{ETRACE} {capture} {more} {elf} {arguments}").ends(0);
    capture
}

/// The path of a program of ours; of one with a path, that.
pub fn elf(program: &str) -> String {
    if program.contains('/') { program.into() } else { format!("programs/bin/{program}.elf") }
}

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
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The values in lines, without the first line of a listing, which tells the version of the schema.
pub fn values(lines: &str) -> impl Iterator<Item = Value> {
    let values = lines.lines().map(|line| serde_json::from_str(line).unwrap());
    values.filter(|value: &Value| value["kind"] != "tracewright")
}

/// A number in an object.
#[track_caller]
pub fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("{name}: {of}"))
}

/// A text in an object.
#[track_caller]
pub fn string<'v>(of: &'v Value, name: &str) -> &'v str {
    of[name].as_str().unwrap_or_else(|| panic!("{name}: {of}"))
}

/// A number that is written as `0x10` in an object.
#[track_caller]
pub fn address(of: &Value, name: &str) -> u64 {
    hex(string(of, name))
}

/// A number that is written as `0x10`.
#[track_caller]
pub fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.strip_prefix("0x").expect(text), 16).expect(text)
}

/// A list in an object.
#[track_caller]
pub fn rows<'v>(of: &'v Value, name: &str) -> &'v [Value] {
    of[name].as_array().unwrap_or_else(|| panic!("{name}: {of}"))
}

/// The sum of a number over all rows.
pub fn sum(rows: &[Value], name: &str) -> u64 {
    rows.iter().map(|row| number(row, name)).sum()
}

/// What is for people fits a terminal of 80 columns.
#[track_caller]
pub fn assert_fits(text: &str) {
    let wide = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "more than 80 columns in\n{text}");
}

/// A path, as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Copies a folder, with those in it.
pub fn copy_folder(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    fs::create_dir_all(&to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.as_ref().join(entry.file_name()));
        if from.is_dir() {
            copy_folder(&from, &to);
        } else {
            fs::write(to, fs::read(from).unwrap()).unwrap();
        }
    }
}

/// The files of a folder that has no others.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

/// The seeds of a test: `FROM-TO` of an environment variable, or as many as usual.
pub fn seeds(variable: &str, usual: u64) -> Range<u64> {
    let Ok(text) = std::env::var(variable) else { return 0..usual };
    let seeds = text.split_once('-').and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    seeds.unwrap_or_else(|| panic!("{variable} is FROM-TO"))
}

/// Puts a text in the place of another that a file has.
#[track_caller]
pub fn replace(path: impl AsRef<Path>, from: &str, to: &str) {
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "no {from:?} in {text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

/// Makes a capture one of which only the trace itself tells that it is damaged.
#[track_caller]
pub fn forget_checksums(capture: &str) {
    replace(format!("{capture}/capture.toml"), "checksums = \"checksums.toml\"\n", "");
}

/// Waits until something is so.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits for a process that must end soon; the machine may be busy.
#[track_caller]
pub fn ends_soon(child: &mut Child, what: &str) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{what}: runs on");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Compiles a source file for RISC-V, with debug information and all libraries in it. Says that `test` is skipped if there is no compiler.
pub fn compiled(test: &str, source: &Path, options: &str) -> Option<String> {
    let is_cpp = source.extension().is_some_and(|extension| extension != "c");
    let compiler = if is_cpp { "riscv64-linux-gnu-g++" } else { "riscv64-linux-gnu-gcc" };
    if !tracewright_testkit::has_programs(test, &[compiler]) {
        return None;
    }
    let program = text(&source.with_extension("")).to_owned();
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-static", "-o", &program, text(source)]).args(words(options));
    ran(&mut command).ends(0);
    Some(program)
}
