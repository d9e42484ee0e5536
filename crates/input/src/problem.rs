//! Problems that a reader found, with their places.

use std::error;
use std::fmt;
use std::path::{Path, PathBuf};

/// Consequence of a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// A part was skipped and is missing from the result.
    Error,
    /// Everything was read, but perhaps not as its author meant it.
    Warning,
}

/// Subject of a [`Problem`]; callers that need no memory images can ignore those about memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Sources, buffers, or the capture as a whole.
    Trace,
    /// Programs and memory images that are used, or that the user named.
    Memory,
    /// Programs and memory images of the capture that are not there. They matter only if their code ran.
    MissingCode,
}

/// Fault in a file, with a message for the person who can repair it.
///
/// Its text is `path:line: error: message`, which editors and terminals turn into a link.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// Consequence.
    pub severity: Severity,
    /// Subject.
    pub subject: Subject,
    /// File that has the problem (for a missing file, the file that names it).
    pub file: PathBuf,
    /// Line, counted from 1; `None` for the file as a whole.
    pub line: Option<u32>,
    /// What was expected, what was found, and what follows from it.
    pub message: String,
}

impl Problem {
    /// Creates an error about a whole file.
    pub fn file_error(file: &Path, message: impl Into<String>) -> Self {
        let (severity, subject) = (Severity::Error, Subject::Trace);
        Self { severity, subject, file: file.to_owned(), line: None, message: message.into() }
    }

    /// Creates an error about a whole program file.
    pub fn memory_error(file: &Path, message: impl Into<String>) -> Self {
        Self { subject: Subject::Memory, ..Self::file_error(file, message) }
    }

    /// Creates an error about a program file of the capture whose code is not there.
    pub fn missing_code(file: &Path, message: impl Into<String>) -> Self {
        Self { subject: Subject::MissingCode, ..Self::file_error(file, message) }
    }

    /// Creates a warning about a whole program file.
    pub fn memory_warning(file: &Path, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::memory_error(file, message) }
    }

    /// Creates a warning about a whole file.
    pub fn file_warning(file: &Path, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::file_error(file, message) }
    }

    /// Returns a stable name of the kind of problem. The wording of its text may change.
    pub fn id(&self) -> &'static str {
        match self.subject {
            Subject::Trace => "capture",
            Subject::Memory => "program",
            Subject::MissingCode => "missing-program",
        }
    }

    /// Returns whether a part was skipped because of it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}: {}", self.severity, self.message)
    }
}

impl error::Error for Problem {}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// Most problems in one list: a binary file read as an ini file must not fill the memory.
const MOST: usize = 1000;

/// Collector of the problems of one file in the list of the capture.
pub(crate) struct Log<'a> {
    file: &'a Path,
    subject: Subject,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Log<'a> {
    pub(crate) fn new(file: &'a Path, problems: &'a mut Vec<Problem>) -> Self {
        Self { file, subject: Subject::Trace, problems }
    }

    /// Returns the same list, for problems with memory images.
    pub(crate) fn memory(&mut self) -> Log<'_> {
        Log { file: self.file, subject: Subject::Memory, problems: self.problems }
    }

    /// Returns the same list, for problems with code that is not there.
    pub(crate) fn missing_code(&mut self) -> Log<'_> {
        Log { file: self.file, subject: Subject::MissingCode, problems: self.problems }
    }

    /// Adds an error; `line` is a number, or `None` for the file as a whole.
    pub(crate) fn error(&mut self, line: impl Into<Option<u32>>, message: impl Into<String>) {
        self.push(Severity::Error, line.into(), message.into());
    }

    pub(crate) fn warning(&mut self, line: u32, message: impl Into<String>) {
        self.push(Severity::Warning, Some(line), message.into());
    }

    fn push(&mut self, severity: Severity, line: Option<u32>, message: String) {
        let (severity, line, message) = match self.problems.len() {
            0..MOST => (severity, line, message),
            // Reported once, so that a truncated list is recognised as such.
            MOST => (Severity::Error, None, format!("more than {MOST} problems: the rest is not listed")),
            _ => return,
        };
        let (subject, file) = (self.subject, self.file.to_owned());
        self.problems.push(Problem { severity, subject, file, line, message });
    }
}

/// Quotes text from a file for a message: special characters escaped, cut to a readable length.
pub(crate) fn quote(text: &str) -> String {
    const LENGTH: usize = 60;
    match text.char_indices().nth(LENGTH) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_problem_is_a_link() {
        let mut problems = Vec::new();
        let mut log = Log::new(Path::new("a/trace.ini"), &mut problems);
        log.error(7, "no buffer");
        log.warning(8, "two cores");
        log.error(None, "empty");
        let text: Vec<_> = problems.iter().map(Problem::to_string).collect();
        assert_eq!(
            text,
            [
                "a/trace.ini:7: error: no buffer",
                "a/trace.ini:8: warning: two cores",
                "a/trace.ini: error: empty"
            ]
        );
    }

    #[test]
    fn a_list_is_bounded_and_says_that_it_was_cut() {
        let mut problems = Vec::new();
        let mut log = Log::new(Path::new("x.ini"), &mut problems);
        (0..5000).for_each(|line| log.warning(line, "odd"));
        assert_eq!(problems.len(), MOST + 1);
        assert_eq!(
            problems[MOST].to_string(),
            "x.ini: error: more than 1000 problems: the rest is not listed"
        );
    }

    #[test]
    fn quoted_text_is_short_and_printable() {
        assert_eq!(quote("a\tb"), r#""a\tb""#);
        assert_eq!(quote(&"é".repeat(1000)), format!("\"{}\"...", "é".repeat(60)));
    }
}
