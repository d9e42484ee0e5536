//! `decode --check`: what a trace tells beside what a log says.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use tracewright_capture::StopFlag;
use tracewright_capture::log::Log;
use tracewright_core::Isa;
use tracewright_etrace::Params;
use tracewright_hart::log::Kind;
use tracewright_input::{Protocol as SourceProtocol, Source};
use tracewright_isa::riscv::Xlen;

use super::part::Tally;
use super::protocol::Protocol;
use super::{All, What, summary};
use crate::check::{self, Checker, Expected, Knows, Records};
use crate::output::{Error, Form, report, write};
use crate::retirement;

impl All<'_> {
    /// Compares the sources of a buffer with a log. Returns how many things were wrong: none if they are equal.
    pub(super) fn check<T: Protocol>(&self, what: &What<'_, T>, path: &Path) -> Result<u64, Error> {
        let sources: Vec<_> = what.sources().map(|source| (source.clone(), source.number())).collect();
        if sources.is_empty() {
            return Err(self.failed("no source can be read: there is nothing to check"));
        }
        if !retirement::is_log(path) {
            let [(source, _)] = &sources[..] else {
                return Err(self.failed("--check compares one source: say which with --id"));
            };
            return self.check_source(what, source, None, path);
        }
        let mut errors = 0;
        for (source, number) in &sources {
            // Of an Arm core's trace, the core is the thread.
            let core = source.core.as_ref().map(|(name, _)| name.as_str());
            let thread = retirement::thread_of(&source.name).or(core.and_then(retirement::thread_of));
            let Some(thread) = thread else {
                let message = format!("{}: not a thread of the log: its name is not threadN", source.name);
                return Err(self.failed(&message));
            };
            let wants = |id: u16| Some(id) == *number;
            let what: What<'_, T> = What { wants: &wants, ..*what };
            errors += self.check_source(&what, source, Some(thread), path)?;
            self.checked.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
        Ok(errors)
    }

    fn failed(&self, why: &str) -> Error {
        Error::Message(format!("{}: {why}", self.buffer.name))
    }

    /// Compares the one source that is wanted, with a thread of the log if that tells them apart.
    fn check_source<T: Protocol>(
        &self,
        what: &What<'_, T>,
        source: &Source,
        thread: Option<u32>,
        path: &Path,
    ) -> Result<u64, Error> {
        let mut log = Log::open(path, &StopFlag::default())?;
        if let Some(thread) = thread {
            log.set_thread(thread)?;
        }
        let isa = isa(source, &log, path)?;
        let xlen = if isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
        let (kind, values) = match log.kind() {
            Kind::Qemu => (check::Log::NoTraps, false),
            Kind::Rvfi | Kind::Retirement => (check::Log::Traps, false),
            Kind::Own | Kind::Spike | Kind::Csv => (check::Log::Traps, true),
        };
        let image = Arc::clone(self.image);
        let context = match &source.protocol {
            SourceProtocol::Etrace(source) => context_mask(&source.config.params),
            _ => u32::MAX.into(),
        };
        // Others tell an atomic operation as a load and a store, or leave out values.
        let data = log.kind() == Kind::Own;
        let knows = Knows { values, interrupts: !isa.is_arm(), context, data };
        let expected =
            Expected::new(knows, move |items| log.read(xlen, &image, items).1.map(|error| error.to_string()));
        let mut checker = Checker::new(expected, kind, self.image, isa);
        let mut stopped = Tally::default();
        let decoded = what.decode_into(&Records { is_arm: isa.is_arm() }, "", &mut checker, &mut stopped);
        let is_whole = decoded.is_ok();
        let errors = match decoded {
            // What the trace leaves open is compared, too.
            Ok(errors) => errors - stopped.unknown_paths,
            Err(_) if checker.is_done() => 0,
            Err(error) => return Err(error),
        };
        let checked = checker.finish(self.opts.check_prefix);
        let name = thread.map(retirement::source_name);
        let text = match (self.opts.json, &name) {
            (true, name) => checked.json(name.as_deref()),
            (false, Some(name)) => format!("{name}: {}", checked.text()),
            (false, None) => checked.text(),
        };
        write("-".as_ref(), Form::json_if(self.opts.json), text.as_bytes(), false)?;
        if let (Some((offset, _)), false) = (checked.parted, is_whole) {
            summary::report_until(&self.buffer.name, &stopped, self.image, offset);
        }
        if let Some(error) = &checked.log_error {
            report(&format!("{}: {error}", path.display()));
        }
        Ok(errors.max(u64::from(!checked.is_equal())))
    }
}

/// The bits of a context that a source tells.
fn context_mask(params: &Params) -> u64 {
    u64::from(u32::MAX) & !u64::MAX.checked_shl(params.context_bits()).unwrap_or(0)
}

/// The instruction set that a source tells of; fails if the log is of another processor.
fn isa(source: &Source, log: &Log, path: &Path) -> Result<Isa, Error> {
    let path = path.display();
    match &source.protocol {
        SourceProtocol::Etrace(source) => {
            log.check_riscv("this trace")?;
            let xlen = if source.isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
            match log.xlen().is_some_and(|of_log| of_log != xlen) {
                true => {
                    Err(Error::Message(format!("{path}: the trace is of {}, the log is not", source.isa)))
                }
                false => Ok(source.isa),
            }
        }
        _ => log
            .arm_isa()
            .ok_or_else(|| Error::Message(format!("{path}: the trace is of an Arm core, the log is not"))),
    }
}

/// Says which threads of a log no source was compared with; how many they are.
pub(super) fn unchecked(path: &Path, checked: &[u32]) -> Result<u64, Error> {
    let threads = Log::open(path, &StopFlag::default())?.threads().unwrap_or_default();
    let missing: Vec<_> = threads.into_iter().filter(|thread| !checked.contains(thread)).collect();
    for thread in &missing {
        report(&format!("{}: thread {thread} is not in the capture", path.display()));
    }
    Ok(missing.len() as u64)
}
