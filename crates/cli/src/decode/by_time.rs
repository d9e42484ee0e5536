//! `decode --by-time`: the lines of all sources, in the order of their timestamps.

use std::io::Write;

use tracewright::listing::{Json, Lines};
use tracewright::{TimedElement, Trace};
use tracewright_core::text::Printable;
use tracewright_engine::Engine;

use super::text::Text;
use super::{BufferDecode, Opts, Shown, line, source};
use crate::output::{Error, Output, printable_path, remark, report};
use crate::terminal::heading;
use tracewright_engine::Line;

/// Bytes of lines that are written at once.
const AT_ONCE: usize = 1 << 16;

/// Writes the lines of all buffers to standard output, and reports what is wrong with them.
pub fn show(trace: &Trace, engine: &Engine, opts: &Opts) -> Result<Shown, Error> {
    let detail = opts.detail();
    if opts.has_objects() {
        let buffers = trace.capture().buffers.iter();
        let lines: Vec<_> = buffers.map(|buffer| Json::new(&buffer.name, detail, true)).collect();
        list(trace, engine, |of| &lines[of.buffer], &opts.first_line(false), opts)
    } else {
        let lines = Text::new(detail, false, true);
        list(trace, engine, |_| &lines, &heading(&lines.columns()), opts)
    }
}

fn list<'a, L: Lines + 'a>(
    trace: &Trace,
    engine: &Engine,
    lines: impl Fn(&TimedElement) -> &'a L,
    columns: &str,
    opts: &Opts,
) -> Result<Shown, Error> {
    let mut elements = trace.elements_by_time()?;
    let mut out = opts.out(Output::paged(opts.table.form()));
    out.write_all(columns.as_bytes())?;
    let mut text = Line::default();
    let mut write = |element: &TimedElement, at_least: usize| {
        let source = source(trace, element.source, element.id);
        line(trace, lines(element), &mut text, &source, &element.listed);
        if text.bytes().len() >= at_least {
            out.write_all(text.bytes())?;
            text.clear();
        }
        Ok::<_, Error>(())
    };
    let outcomes = match opts.last {
        Some(count) => {
            let last = elements.last(count.into(), opts.detail().filter(), trace.image())?;
            last.elements.iter().try_for_each(|element| write(element, 0))?;
            if last.dropped > 0 {
                report(&format!("{} elements between instructions are left out", last.dropped));
            }
            last.buffers
        }
        None => {
            elements.try_for_each(|element| write(&element, AT_ONCE))?;
            elements.finish()?
        }
    };
    out.write_all(text.bytes())?;
    out.flush()?;
    let shown = Shown::default().and_unlisted(&printable_path(&trace.capture().path), text.unlisted());
    let (mut shown, mut untimed) = (shown, Vec::new());
    for outcome in outcomes {
        let buffer = &trace.capture().buffers[outcome.value.buffer];
        let decode = BufferDecode {
            trace,
            engine,
            buffer,
            no_image: false,
            again: false,
            has_funnel: false,
            opts: Some(opts),
        };
        shown.add(decode.shown(&outcome));
        untimed.extend(outcome.value.untimed.iter().map(|&of| &trace.capture().sources[of].name));
    }
    if !untimed.is_empty() {
        let names: Vec<_> = untimed.into_iter().map(|name| Printable(name).to_string()).collect();
        remark(&format!("no timestamps, so that they come last: {}", names.join(", ")));
    }
    Ok(shown)
}
