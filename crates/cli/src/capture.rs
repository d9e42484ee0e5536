//! What the library says of captures that are made, in the words of the command line; and the options that they share.

use std::path::Path;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use tracewright_capture::etrace::delta;
use tracewright_capture::{Condition, Error, EventAt, LogProblem, Protocols, Remark};
use tracewright_core::Isa;

use crate::output::{self, is_quiet, report};

impl From<Error> for output::Error {
    fn from(error: Error) -> Self {
        let text = match &error {
            Error::Listing(_) => String::new(),
            Error::Option(message) => format!("--option {message}"),
            Error::Unfit(_) => format!("--{error}"),
            Error::UnknownOption { .. } => format!("{error}: `--option help` lists all"),
            Error::Condition { of, problem, marked } => {
                let problem = problem.replace("with NAME@", "with --when-event NAME@");
                return Self::Marked(format!("{}: {problem}", option(*of)), marked.clone());
            }
            Error::Event(EventAt::Text(_), _) => format!("--{error}"),
            Error::Delta { format, problem } => {
                let equals = if format.is_empty() { "" } else { "=" };
                format!("--delta{equals}{format}: {problem}; `--delta=help` lists all")
            }
            Error::Log(path, problem @ LogProblem::NoCycles) => {
                format!("{}: --delta: {problem}", path.display())
            }
            Error::PortWithData => "--port is for instruction trace: leave out --option data".into(),
            Error::WrongProtocol { .. } => format!("--{error}"),
            Error::Unsupported { what: "data trace", .. } => {
                "--data: ETMv4 of Arm's application processors has no data trace; add --log FILE, which has accesses to memory".into()
            }
            _ => error.to_string(),
        };
        match error {
            Error::Listing(error) => Self::Output(error),
            _ => Self::Message(text),
        }
    }
}

/// The option that says a condition.
fn option(of: Condition) -> &'static str {
    match of {
        Condition::When => "--when",
        Condition::Trigger => "--trigger",
    }
}

/// Reports what should be known of a capture.
pub fn remark(remark: &Remark) {
    if is_quiet() && remark.is_minor() {
        return;
    }
    report(&match remark {
        Remark::SmallBuffer { .. } => format!("--port-buffer: {remark}"),
        Remark::Never(of, _) => format!("{} {remark}", option(*of)),
        Remark::NothingTraced { .. } => format!("--when {remark}"),
        Remark::LeftOut(_) => format!("--when: {remark}"),
        Remark::Trigger { .. } => format!("--trigger {remark}"),
        Remark::CodeMissing(_) | Remark::NoProgram => {
            format!("{remark}: decode will need it (--image FILE[@ADDR])")
        }
        Remark::OneThread { .. } => format!("{remark} (--thread N)"),
        _ => remark.to_string(),
    });
}

/// Reports what `make` remarks, also if it fails.
pub fn remarked<T>(make: impl FnOnce(&mut Vec<Remark>) -> Result<T, Error>) -> Result<T, output::Error> {
    let mut remarks = Vec::new();
    let made = make(&mut remarks);
    remarks.iter().for_each(remark);
    Ok(made?)
}

/// Takes the name of a protocol that captures can be made in.
pub fn protocols(needs_qemu: &str) -> PossibleValuesParser {
    let value = |protocol: &'static tracewright_capture::protocol::Protocol| {
        let needs = if (protocol.supports)(Isa::Rv64) { "" } else { needs_qemu };
        PossibleValue::new(protocol.name).help(format!("{}{needs}", protocol.about))
    };
    PossibleValuesParser::new(Protocols::default().iter().map(value))
}

/// Of delta trace.
#[derive(Args, Clone, Debug)]
pub struct DeltaArgs {
    /// Also write retirement-delta trace, the cycle of each instruction, to delta.bin in the capture. SPEC is its format; if not given, one that
    /// loses nothing (`--delta=help` lists all).
    #[arg(long, value_name = "SPEC", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub delta: Option<String>,
}

impl DeltaArgs {
    /// What is said of formats, if that is asked for: also by `--delta help`, where `help` is taken for the first file.
    pub fn help(&self, first: Option<&Path>) -> Option<&'static str> {
        let is_word = || first == Some(Path::new("help")) && !Path::new("help").exists();
        match self.delta.as_deref() {
            Some("help") => Some(delta::HELP),
            Some("") if is_word() => Some(delta::HELP),
            _ => None,
        }
    }
}
