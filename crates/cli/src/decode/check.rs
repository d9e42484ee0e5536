//! `decode --check`: what a trace tells beside what a log says.

use std::path::Path;

use tracewright::check::{Checker, thread_of};
use tracewright_capture::StopFlag;
use tracewright_capture::log::Log;
use tracewright_input::Source;

use super::{BufferDecode, Opts, summary};
use crate::output::{Error, Form, report, write};
use crate::retirement;

/// Compares the sources of a buffer with a log. Returns how many things were wrong: none if they are equal. Adds the threads of the
/// log that were compared to `checked`.
pub(super) fn check(
    decode: &BufferDecode<'_>,
    opts: &Opts,
    path: &Path,
    checked: &mut Vec<u32>,
) -> Result<u64, Error> {
    let failed = |why: &str| Error::Message(format!("{}: {why}", decode.buffer.name));
    let sources: Vec<_> = decode.sources().collect();
    if sources.is_empty() {
        return Err(failed("no source can be read: there is nothing to check"));
    }
    if !retirement::is_log(path) {
        let [source] = sources[..] else {
            return Err(failed("--check compares one source: say which with --id"));
        };
        return check_source(decode, opts, (source, None), path);
    }
    let mut errors = 0;
    for source in sources {
        let Some(thread) = thread_of(source) else {
            let message = format!("{}: not a thread of the log: its name is not threadN", source.name);
            return Err(failed(&message));
        };
        let one = decode.trace.clone().only_source(source.number().unwrap_or(0));
        let decode = BufferDecode { trace: &one, ..*decode };
        errors += check_source(&decode, opts, (source, Some(thread)), path)?;
        checked.push(thread);
    }
    Ok(errors)
}

/// Compares the one source that is wanted, with a thread of the log if that tells them apart.
fn check_source(
    decode: &BufferDecode<'_>,
    opts: &Opts,
    (source, thread): (&Source, Option<u32>),
    path: &Path,
) -> Result<u64, Error> {
    let mut checker = Checker::of_log(path, thread, source, decode.trace.image())?;
    let decoded = decode.decode(&checker.records(), true, |records, range| checker.take(&records[range]))?;
    let errors = match decoded.is_stopped {
        true => 0,
        // What the trace leaves open is compared, too.
        false => decode.report(&decoded) - decoded.tally.unknown_paths,
    };
    let checked = checker.finish(opts.check_prefix);
    let name = thread.map(retirement::source_name);
    let text = match (opts.json, &name) {
        (true, name) => checked.json(name.as_deref()),
        (false, Some(name)) => format!("{name}: {}", checked.text()),
        (false, None) => checked.text(),
    };
    write("-".as_ref(), Form::json_if(opts.json), text.as_bytes(), false)?;
    if let (Some((offset, _)), true) = (checked.parted, decoded.is_stopped) {
        summary::report_until(&decode.buffer.name, &decoded.tally, decode.trace.image(), offset);
    }
    if let Some(error) = &checked.log_error {
        report(&format!("{}: {error}", path.display()));
    }
    Ok(errors.max(u64::from(!checked.is_equal())))
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
