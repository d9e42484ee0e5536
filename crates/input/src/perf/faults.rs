//! What is wrong with a recording, each kind told once.

use std::path::Path;

use crate::problem::{Problem, Severity, Subject};

/// Collects them. A record that is wrong is seldom alone: of one kind the first is told, and how many there were.
#[derive(Debug, Default)]
pub(super) struct Faults {
    list: Vec<Fault>,
}

#[derive(Debug)]
struct Fault {
    severity: Severity,
    subject: Subject,
    message: String,
    /// What makes it the same kind as others; the message of the first counts.
    kind: Option<&'static str>,
    count: u64,
}

/// No more kinds than this.
const MOST: usize = 1000;

impl Faults {
    pub fn error(&mut self, message: impl Into<String>) {
        self.push(Severity::Error, Subject::Trace, None, message.into());
    }

    /// Whether something was said of an end that is missing.
    pub fn is_cut_off(&self) -> bool {
        self.list.iter().any(|fault| fault.message.contains("cut off"))
    }

    pub fn warning(&mut self, message: impl Into<String>) {
        self.push(Severity::Warning, Subject::Trace, None, message.into());
    }

    /// One of many records that may be wrong in the same way.
    pub fn record(&mut self, kind: &'static str, at: u64) {
        self.repeated(Severity::Error, Subject::Trace, kind, || format!("at {at:#x}: {kind}"));
    }

    /// One of many things that may be wrong in the same way.
    pub fn repeated(
        &mut self,
        severity: Severity,
        subject: Subject,
        kind: &'static str,
        message: impl FnOnce() -> String,
    ) {
        match self.list.iter_mut().find(|fault| fault.kind == Some(kind)) {
            Some(fault) => fault.count += 1,
            None => self.push(severity, subject, Some(kind), message()),
        }
    }

    fn push(&mut self, severity: Severity, subject: Subject, kind: Option<&'static str>, message: String) {
        if self.list.len() < MOST {
            self.list.push(Fault { severity, subject, message, kind, count: 1 });
        }
    }

    /// All of them, as problems with `file`.
    pub fn problems(self, file: &Path) -> impl Iterator<Item = Problem> {
        self.list.into_iter().map(move |Fault { severity, subject, message, count, .. }| {
            let message = match count {
                1 => message,
                count => format!("{message} (and {} more)", count - 1),
            };
            Problem { severity, subject, file: file.to_owned(), line: None, message }
        })
    }
}
