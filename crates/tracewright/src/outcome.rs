//! A result, and what is missing from it.

use std::collections::BTreeSet;

use tracewright_engine::{Decoded, PacketsRead, Problem, SourceTally, Tally};
use tracewright_input::{self as input, Buffer, Capture};

use crate::words;

/// Something that is missing from a result, or may be wrong with it.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Name of the buffer.
    pub buffer: String,
    /// The problem.
    pub problem: Problem,
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.buffer, self.problem)
    }
}

/// A result, what was decoded for it, and what is missing from it.
#[derive(Clone, Debug, Default)]
pub struct Outcome<T> {
    /// The result.
    pub value: T,
    /// What was decoded. Of packets it has only `gaps` (packets that report lost trace) and `malformed`.
    pub tally: Tally,
    /// What was decoded of each source, in the order of the buffers.
    pub sources: Vec<SourceTally>,
    /// What is missing or may be wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// Bytes of chosen sources that were not read, in words.
    pub unread: Vec<String>,
    /// Problems of the capture and its programs that concern the result.
    pub problems: Vec<input::Problem>,
    /// Whether the receiver of the result asked to stop. What follows was not read, and is not counted as missing.
    pub is_stopped: bool,
    /// Whether any source has a synchronisation point. If none has, nothing could be read, and the exit status of the command is 2.
    pub is_synchronised: bool,
}

impl<T> Outcome<T> {
    /// Creates the outcome of decoding a buffer.
    pub(crate) fn decoded(capture: &Capture, buffer: &Buffer, decoded: Decoded<T>) -> Self {
        let Decoded { output, tally, sources, problems, unread, is_stopped, is_synchronised } = decoded;
        let outcome = Self::of_buffer(capture, buffer, problems, unread, output, tally);
        Self { sources, is_stopped, is_synchronised, ..outcome }
    }

    /// Creates the outcome of reading the packets of a buffer.
    pub(crate) fn packets(capture: &Capture, buffer: &Buffer, read: PacketsRead, value: T) -> Self {
        let PacketsRead { problems, losses, malformed, unread, is_synchronised, .. } = read;
        let tally = Tally { gaps: losses, malformed, ..Tally::default() };
        let outcome = Self::of_buffer(capture, buffer, problems, unread, value, tally);
        Self { is_synchronised, ..outcome }
    }

    fn of_buffer(
        capture: &Capture,
        buffer: &Buffer,
        problems: Vec<Problem>,
        unread: impl IntoIterator<Item = (u16, u64)>,
        value: T,
        tally: Tally,
    ) -> Self {
        let named = |problem| Diagnostic { buffer: buffer.name.clone(), problem };
        let unread = words::unread(capture, buffer, unread).into_iter();
        Self {
            value,
            tally,
            sources: Vec::new(),
            diagnostics: problems.into_iter().map(named).collect(),
            unread: unread.map(|line| format!("{}: {line}", buffer.name)).collect(),
            problems: Vec::new(),
            is_stopped: false,
            is_synchronised: false,
        }
    }

    /// Adds what is missing from the outcome of a further buffer, and returns its value.
    pub fn add<U>(&mut self, other: Outcome<U>) -> U {
        let Outcome { value, tally, sources, diagnostics, unread, problems, is_stopped, is_synchronised } =
            other;
        self.tally += &tally;
        self.sources.extend(sources);
        self.diagnostics.extend(diagnostics);
        self.unread.extend(unread);
        self.problems.extend(problems);
        self.is_stopped |= is_stopped;
        self.is_synchronised |= is_synchronised;
        value
    }

    /// Returns whether nothing is missing from the result. The exit status of the command follows from it.
    pub fn is_complete(&self) -> bool {
        self.missing().is_empty()
    }

    /// Describes what is missing from the result, a line each: damage of the capture and its programs, errors of buffers, limits that
    /// were reached, sources that cannot be read, lost trace (overflows, too), missing code, mismatches and unknown paths but endless loops at the end.
    pub fn missing(&self) -> Vec<String> {
        self.reasons().into_iter().map(|(_, text)| text).collect()
    }

    /// Returns why the result is not complete, as stable names, each once.
    pub fn reason_ids(&self) -> BTreeSet<&'static str> {
        self.reasons().into_iter().map(|(id, _)| id).collect()
    }

    /// Returns what is missing from the result: a stable name, and a description.
    fn reasons(&self) -> Vec<(&'static str, String)> {
        let mut missing = Vec::new();
        let errors = self.problems.iter().filter(|problem| problem.is_error());
        missing.extend(errors.map(|problem| (problem.id(), problem.to_string())));
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.problem.is_error());
        missing.extend(errors.map(|diagnostic| (diagnostic.problem.id(), diagnostic.to_string())));
        missing.extend(self.unread.iter().map(|line| ("unread-source", line.clone())));
        let Tally { gaps, malformed, data_lost, no_code, mismatches, .. } = self.tally;
        // How often an endless loop turned is in no trace: nothing is missing from this one.
        let unknown_paths = self.tally.unknown_paths.saturating_sub(self.tally.endless_loops);
        // What is before the first synchronisation was cut off by the buffer, as the bytes before it.
        let is_synchronised = self.tally.syncs > 0;
        let malformed = malformed - if is_synchronised { self.tally.malformed_before_sync } else { 0 };
        let code = self.tally.first_no_code.map_or(0, |(_, address, _)| address);
        let counts = [
            ("lost-trace", gaps, "trace was lost".to_owned()),
            ("malformed", malformed, "bytes are no packet".to_owned()),
            ("data-lost", data_lost, "accesses to memory are missing".to_owned()),
            ("no-code", no_code, format!("no image has the code that ran, first at {code:#x}")),
            ("mismatch", mismatches, "the code cannot be what ran".to_owned()),
            ("unknown-path", unknown_paths, "a path ran that the trace does not tell".to_owned()),
        ];
        let counts = counts.into_iter().filter(|(_, count, _)| *count > 0);
        missing.extend(counts.map(|(id, count, what)| match count {
            1 => (id, format!("once {what}")),
            count => (id, format!("{count} times {what}")),
        }));
        missing
    }

    /// Returns the outcome with another value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Outcome<U> {
        let Self { value, tally, sources, diagnostics, unread, problems, is_stopped, is_synchronised } = self;
        let value = f(value);
        Outcome { value, tally, sources, diagnostics, unread, problems, is_stopped, is_synchronised }
    }
}
