//! `decode --check`: what a trace tells beside what a log says.

use std::path::Path;

use tracewright::check::{Checked, Checker, Told, thread_of};
use tracewright_capture::StopFlag;
use tracewright_capture::log::Log;
use tracewright_input::Source;

use super::{BufferDecode, Opts, Shown, summary};
use crate::output::{Error, Form, Outcome, Readable, report, write};
use crate::retirement;

/// Compares the sources of a buffer with a log. Adds the threads of the log that were compared to `checked`.
pub(super) fn check(
    decode: &BufferDecode<'_>,
    opts: &Opts,
    path: &Path,
    checked: &mut Vec<u32>,
) -> Result<Shown, Error> {
    let failed = |why: &str| Error::Message(format!("{}: {why}", decode.buffer.name));
    let sources: Vec<_> = decode.sources().collect();
    if sources.is_empty() {
        return Err(failed("no source can be read: there is nothing to check"));
    }
    if !retirement::is_log(path) {
        let [source] = sources[..] else {
            if path.as_os_str() == "-" || path.starts_with("/dev") {
                let why = "--check compares several sources with a log that is read at any place: give its file, not a pipe";
                return Err(failed(why));
            }
            return Err(failed("--check compares one source: say which with --id"));
        };
        return check_source(decode, opts, (source, None), path);
    }
    let mut all = Shown::default();
    for source in sources {
        let Some(thread) = thread_of(source) else {
            let message = format!("{}: not a thread of the log: its name is not threadN", source.name);
            return Err(failed(&message));
        };
        let one = decode.trace.clone().only_source(source.number().unwrap_or(0));
        let decode = BufferDecode { trace: &one, ..*decode };
        all.add(check_source(&decode, opts, (source, Some(thread)), path)?);
        checked.push(thread);
    }
    Ok(all)
}

/// Compares the one source that is wanted, with a thread of the log if that tells them apart.
fn check_source(
    decode: &BufferDecode<'_>,
    opts: &Opts,
    (source, thread): (&Source, Option<u32>),
    path: &Path,
) -> Result<Shown, Error> {
    let (checked, decoded) = compare(decode, opts, (source, thread), path)?;
    if checked.lacks_code()
        && let Some((trace, code)) = decode.trace.with_code_of_log(path, thread, source)?
    {
        let decode = BufferDecode { trace: &trace, ..*decode };
        let (checked, decoded) = compare(&decode, opts, (source, thread), path)?;
        return show(&decode, opts, thread, path, (checked.with_code(code), decoded));
    }
    show(decode, opts, thread, path, (checked, decoded))
}

/// A comparison, and what was decoded for it.
type Compared = (Checked, tracewright::Outcome<Vec<Told>>);

fn compare(
    decode: &BufferDecode<'_>,
    opts: &Opts,
    (source, thread): (&Source, Option<u32>),
    path: &Path,
) -> Result<Compared, Error> {
    let mut checker = Checker::of_log(path, thread, source, decode.trace.image())?;
    if opts.pass_waits {
        checker = checker.pass_waits();
    }
    let decoded = decode.decode(&checker.records(), true, |records, range| checker.take(&records[range]))?;
    Ok((checker.finish(opts.check_prefix), decoded))
}

/// Writes the result of a comparison.
fn show(
    decode: &BufferDecode<'_>,
    opts: &Opts,
    thread: Option<u32>,
    path: &Path,
    (checked, mut decoded): Compared,
) -> Result<Shown, Error> {
    if !decoded.is_stopped {
        decode.report(&decoded);
    }
    // What the trace leaves open is compared, too.
    (decoded.tally.unknown_paths, decoded.tally.data_lost) = (0, 0);
    let name = thread.map(retirement::source_name);
    let text = match (opts.table.json, &name) {
        (true, name) => crate::json::line("decode", checked.json(name.as_deref())),
        (false, Some(name)) => format!("{name}: {}", checked.text()),
        (false, None) => checked.text(),
    };
    write("-".as_ref(), Form::json_if(opts.table.json), text.as_bytes(), false)?;
    if let (Some((offset, _)), true) = (checked.parted, decoded.is_stopped) {
        let (trace, buffer) = (decode.trace, decode.buffer);
        summary::report_until(trace.capture(), buffer, &decoded.tally, trace.image(), offset);
    }
    if let Some(error) = &checked.log_error {
        report(&format!("{}: {error}", path.display()));
    }
    // Where they part, decoding stops at once or a little later.
    let outcome = match checked.is_equal() {
        true => Outcome::of(&decoded),
        false => Outcome::lacks("mismatch", true),
    };
    let mut readable = Readable::default();
    readable.note(decode.trace.capture(), decode.buffer, &decoded);
    Ok(Shown { tally: decoded.tally, readable, sources: decoded.sources, outcome })
}

/// Says which threads of a log no source was compared with.
pub(super) fn unchecked(path: &Path, checked: &[u32]) -> Result<Outcome, Error> {
    // Other logs have no threads, and one in a pipe was read to its end.
    if !retirement::is_log(path) {
        return Ok(Outcome::Good);
    }
    let threads = Log::open(path, &StopFlag::default())?.threads().unwrap_or_default();
    let missing: Vec<_> = threads.into_iter().filter(|thread| !checked.contains(thread)).collect();
    for thread in &missing {
        report(&format!("{}: thread {thread} is not in the capture", path.display()));
    }
    Ok(Outcome::lacks("mismatch", !missing.is_empty()))
}
