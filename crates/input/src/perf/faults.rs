//! Faults of a recording, each kind reported once.

use std::path::Path;

use crate::problem::{Problem, Severity, Subject};

/// Collector of faults. Wrong records seldom come alone: the first of each kind is reported, with the number
/// of all.
#[derive(Debug, Default)]
pub(super) struct Faults {
    list: Vec<Fault>,
}

#[derive(Debug)]
struct Fault {
    severity: Severity,
    subject: Subject,
    message: String,
    /// Kind by which faults are grouped; the message of the first is used.
    kind: Option<&'static str>,
    count: u64,
}

/// Most kinds.
const MOST: usize = 1000;

impl Faults {
    pub fn error(&mut self, message: impl Into<String>) {
        self.push(Severity::Error, Subject::Trace, None, message.into());
    }

    /// Returns whether a missing end was reported.
    pub fn is_cut_off(&self) -> bool {
        self.list.iter().any(|fault| fault.message.contains("cut off"))
    }

    pub fn warning(&mut self, message: impl Into<String>) {
        self.push(Severity::Warning, Subject::Trace, None, message.into());
    }

    /// Reports a record of which many may be wrong in the same way.
    pub fn record(&mut self, kind: &'static str, at: u64) {
        self.repeated(Severity::Error, Subject::Trace, kind, || format!("at {at:#x}: {kind}"));
    }

    /// Reports a fault that may occur many times.
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

    /// Returns all faults as problems with `file`.
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
