//! A result, and what is missing from it.

use tracewright_engine::{Problem, Tally};

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
    /// What was decoded.
    pub tally: Tally,
    /// What is missing or may be wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// Bytes of chosen sources that were not read, in words.
    pub unread: Vec<String>,
    /// Whether a file of the capture, or a program, is damaged or missing: see [`Trace::problems`](crate::Trace::problems).
    pub is_capture_damaged: bool,
}

impl<T> Outcome<T> {
    /// Returns whether nothing is missing from the result.
    pub fn is_complete(&self) -> bool {
        self.missing().is_empty()
    }

    /// Describes what is missing from the result, a line each: damage of the capture and its programs, errors of buffers, sources that
    /// cannot be read, gaps (but overflows, which are normal), missing code, mismatches and unknown paths.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.is_capture_damaged {
            missing.push("the capture or a program is damaged or missing: Trace::problems tells".to_owned());
        }
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.problem.is_error());
        missing.extend(errors.map(ToString::to_string));
        missing.extend(self.unread.iter().cloned());
        let Tally { bad_gaps, no_code, mismatches, unknown_paths, .. } = self.tally;
        let code = self.tally.first_no_code.map_or(0, |(_, address, _)| address);
        let counts = [
            (bad_gaps, "trace was lost".to_owned()),
            (no_code, format!("no image has the code that ran, first at {code:#x}")),
            (mismatches, "the code cannot be what ran".to_owned()),
            (unknown_paths, "a path ran that the trace does not tell".to_owned()),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        missing.extend(counts.map(|(count, what)| match count {
            1 => format!("once {what}"),
            count => format!("{count} times {what}"),
        }));
        missing
    }

    /// Returns the outcome with another value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Outcome<U> {
        let Self { value, tally, diagnostics, unread, is_capture_damaged } = self;
        Outcome { value: f(value), tally, diagnostics, unread, is_capture_damaged }
    }
}
