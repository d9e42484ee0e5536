//! Standard output, files that results go to, standard error, and how a verb ends.

mod file;

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use tracewright::{Diagnostic, Trace};
use tracewright_core::text::Printable;
use tracewright_engine::{self as engine, Limit, Tally};
use tracewright_input::{Buffer, Capture, Problem, Protocol, Subject};

use crate::terminal::{self, Style};

pub use self::file::{
    FileError, ForceArgs, Output, refuse_same, refuse_stream, refuse_terminal, report_unwritten, write,
};
pub use tracewright::escape::Form;

/// How a verb ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// All was read.
    #[default]
    Good,
    /// Something is missing or wrong, and was said so: why, as stable names.
    Incomplete(BTreeSet<&'static str>),
    /// A program was run, and ended with this status.
    Status(u8),
}

impl Outcome {
    /// `Incomplete` for this reason, if something `is_missing`.
    pub fn lacks(reason: &'static str, is_missing: bool) -> Self {
        is_missing.then_some(reason).into_iter().collect()
    }

    /// `Incomplete` if something is missing from what the library returned.
    pub fn of<T>(result: &tracewright::Outcome<T>) -> Self {
        result.reason_ids().into_iter().collect()
    }

    /// The worse of the two, for all reasons.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Incomplete(one), Self::Incomplete(other)) => one.into_iter().chain(other).collect(),
            (Self::Good, other) => other,
            (one, _) => one,
        }
    }

    /// Adds why something else is missing.
    pub fn add(&mut self, other: Self) {
        *self = std::mem::take(self).and(other);
    }

    /// Why something is missing: nothing if nothing is.
    pub fn reasons(&self) -> Vec<&'static str> {
        if let Self::Incomplete(reasons) = self { reasons.iter().copied().collect() } else { Vec::new() }
    }
}

impl FromIterator<&'static str> for Outcome {
    fn from_iter<I: IntoIterator<Item = &'static str>>(reasons: I) -> Self {
        let reasons: BTreeSet<_> = reasons.into_iter().collect();
        if reasons.is_empty() { Self::Good } else { Self::Incomplete(reasons) }
    }
}

/// Why a verb could not do its job.
#[derive(Debug)]
pub enum Error {
    /// Writing the output failed.
    Output(io::Error),
    /// The capture cannot be read, or the options do not fit it.
    Message(String),
    /// The same, and lines of ours that mark the place.
    Marked(String, String),
}

impl Error {
    /// Writes it to standard error.
    pub fn report(&self) {
        match self {
            Self::Marked(message, lines) => {
                tell(Style::Error, message);
                lines.lines().for_each(say);
            }
            _ => tell(Style::Error, &self.to_string()),
        }
    }

    /// Whether whoever read our output has gone.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Message(problem.to_string())
    }
}

impl From<tracewright_engine::Error> for Error {
    fn from(error: tracewright_engine::Error) -> Self {
        Self::Message(error.to_string())
    }
}

impl From<tracewright::Error> for Error {
    fn from(error: tracewright::Error) -> Self {
        Self::Message(error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(error) if FileError::is_in(error) => error.fmt(f),
            Self::Output(error) => write!(f, "standard output: cannot write: {error}"),
            Self::Message(message) => f.write_str(message),
            Self::Marked(message, lines) => write!(f, "{message}\n{lines}"),
        }
    }
}

/// Endings of the names of output files, and the formats that they stand for.
const ENDINGS: [(&str, &str); 17] = [
    (".svg", "flamegraph"),
    (".csv", "csv"),
    (".folded", "folded"),
    (".pb.gz", "pprof"),
    (".pb", "pprof"),
    (".pprof", "pprof"),
    (".callgrind", "callgrind"),
    (".fdata", "fdata"),
    (".gcov", "gcov"),
    (".afdo", "autofdo"),
    (".info", "lcov"),
    (".lcov", "lcov"),
    (".html", "html"),
    (".prof", "tracewright"),
    (".xml", "cobertura"),
    (".pftrace", "perfetto"),
    (".perfetto-trace", "perfetto"),
];

/// Format of an output.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<F> {
    pub format: F,
    pub is_json: bool,
}

impl<F: ValueEnum + Default> Chosen<F> {
    /// Returns the format that is `asked` for, or the one that the name of the output stands for. It is an error if the verb has no such
    /// format.
    pub fn new(asked: Option<F>, json: bool, path: &Path) -> Result<Self, Error> {
        let is_by_name = asked.is_none() && !json;
        let format = if is_by_name { format_of(path)? } else { asked };
        Ok(Self { format: format.unwrap_or_default(), is_json: json || is_by_name && is_json(path) })
    }
}

fn format_of<F: ValueEnum>(path: &Path) -> Result<Option<F>, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let Some((ending, format)) = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)) else {
        return Ok(None);
    };
    let path = printable_path(path);
    F::from_str(format, true)
        .map(Some)
        .map_err(|_| Error::Message(format!("{path}: this verb writes no {ending}: say what with --format")))
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

/// Returns a path as it may be printed.
pub fn printable_path(path: &Path) -> String {
    Printable(&path.to_string_lossy()).to_string()
}

/// Whether anything could be read of the buffers that are asked for, and what kept it from being read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Readable {
    is_any: bool,
    is_unsupported: bool,
    has_bytes: bool,
}

impl Readable {
    /// Adds what was read of a buffer.
    pub fn note<T>(&mut self, capture: &Capture, buffer: &Buffer, read: &tracewright::Outcome<T>) {
        let is_unsupported =
            |source: &usize| matches!(capture.sources[*source].protocol, Protocol::Unsupported(..));
        self.is_any |= read.is_synchronised || read.is_stopped;
        self.is_unsupported |= !read.unread.is_empty() && buffer.sources.iter().any(is_unsupported);
        self.has_bytes |= !read.diagnostics.iter().any(|of| matches!(of.problem, engine::Problem::Empty));
    }

    /// Adds what was read of other buffers.
    pub fn add(&mut self, other: Self) {
        self.is_any |= other.is_any;
        self.is_unsupported |= other.is_unsupported;
        self.has_bytes |= other.has_bytes;
    }

    /// Fails if nothing could be read: the exit status is 2, in every verb.
    pub fn refuse_nothing(self) -> Result<(), Error> {
        let why = match self {
            Self { is_any: true, .. } => return Ok(()),
            Self { is_unsupported: true, .. } => "no source has a protocol that tracewright reads",
            Self { has_bytes: false, .. } => "there is no trace",
            _ => "no source has a synchronisation point",
        };
        Err(Error::Message(format!("nothing could be read: {why}")))
    }
}

/// Writes one line to standard error. Whatever foreign names are in it, it stays one line, and steers no terminal. A terminal gets as
/// many lines as it needs.
pub fn report(line: &str) {
    tell(Style::Heading, line);
}

fn tell(style: Style, line: &str) {
    let line = format!("{PROGRAM}{}", Printable(line.trim_end()));
    let mut line = wrapped(&line, 2);
    if terminal::has_error_colors() {
        line.replace_range(..PROGRAM.len(), &style.paint(PROGRAM));
    }
    write_error(&line);
}

/// What begins each line that is no table.
const PROGRAM: &str = "tracewright: ";

/// Set by `--quiet`.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Sets whether only errors are written to standard error.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Returns whether only errors are written to standard error (`--quiet`).
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Writes one line to standard error that changes neither the result nor the status: a remark, a warning, a closing line.
pub fn remark(line: &str) {
    if !is_quiet() {
        report(line);
    }
}

/// Writes a line of a table to standard error.
pub fn say(line: &str) {
    let line = Printable(line.trim_end()).to_string();
    let words = line.trim_start_matches(' ');
    // Columns stay in one line.
    let has_columns = words.contains("  ");
    write_error(&if has_columns { line } else { wrapped(&line, line.len() - words.len() + 2) });
}

fn wrapped(line: &str, indent: usize) -> String {
    terminal::error_width().map_or(line.to_owned(), |width| terminal::wrap(line, width, indent))
}

fn write_error(line: &str) {
    let line = format!("{line}\n");
    if !terminal::hold(&line) {
        // There is nowhere left to report a failure to.
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

/// Reports a problem of a buffer, with the option that may help.
pub fn report_problem(Diagnostic { buffer, problem }: &Diagnostic) {
    let option = match problem {
        engine::Problem::Stopped(_, Limit::Instructions, _) => " (--max-instructions)",
        engine::Problem::Stopped(_, Limit::Memory, _) => " (--max-memory)",
        engine::Problem::Stopped(_, Limit::Waiting, _) => " (--id)",
        engine::Problem::NoFrames { syncs: true, .. } => " (--packing)",
        _ => "",
    };
    let line = format!("{buffer}: {problem}{option}");
    if problem.is_error() { report(&line) } else { remark(&line) }
}

/// Reports a capture's problems; says whether any was an error.
pub fn report_problems<'a>(problems: impl IntoIterator<Item = &'a Problem>) -> Outcome {
    let (mut errors, mut all) = (BTreeSet::new(), Vec::<(&Problem, u64)>::new());
    for problem in problems {
        errors.extend(problem.is_error().then(|| problem.id()));
        // Each core of a chip may name the same file.
        let is_same =
            |other: &Problem| (&other.message, other.severity) == (&problem.message, problem.severity);
        match all.iter_mut().find(|(other, _)| is_same(other)) {
            Some((_, more)) => *more += 1,
            None => all.push((problem, 0)),
        }
    }
    for (problem, more) in all {
        let more = match more {
            0 => String::new(),
            1 => " (and once more)".into(),
            more => format!(" (and {more} times more)"),
        };
        let line = format!("{problem}{more}");
        if problem.is_error() { report(&line) } else { remark(&line) }
    }
    errors.into_iter().collect()
}

/// Reports files that cannot be read and would have code that ran; says whether there are any. Of files that a recording names, only
/// those are reported whose code ran, with the code.
pub fn report_missing_code(trace: &Trace, tally: &Tally) -> Outcome {
    let is_code = |problem: &&Problem| problem.subject == Subject::MissingCode && problem.is_error();
    report_problems(trace.problems_of(tally).filter(is_code))
}
