//! `packets --text`: text that software wrote to stimulus ports and channels.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::ControlFlow;

use tracewright::channel_text::{ChannelText, TextKind};
use tracewright::csv::{self, Csv};
use tracewright::{Capture, words};
use tracewright_core::text::Printable;
use tracewright_input::{Buffer, Source};

use super::{Opts, report_read};
use crate::json::{first_line, last_line};
use crate::output::{Error, Outcome, Output, Readable, remark};
use crate::progress;

/// Runs the verb.
pub fn run(opts: &Opts) -> Result<Outcome, Error> {
    let (trace, mut outcome) = opts.select.open(&opts.capture, false)?;
    let trace = &opts.offsets.of(trace)?;
    let capture = trace.capture();
    let buffers = trace.buffers()?;
    let is_wanted = |source: &&Source| !source.traces_instructions() && trace.has_source(source);
    let sources = || buffers.iter().flat_map(|buffer| &buffer.sources).map(|&index| &capture.sources[index]);
    let writers = sources().filter(is_wanted).count();
    if writers == 0 {
        let message = "--text: no source here has stimulus ports or channels (an ITM or an STM has)";
        return Err(Error::Message(message.into()));
    }
    let engine = trace.engine()?;
    let mut out = Output::paged(opts.table.form());
    let mut print = Print {
        capture,
        is_json: opts.table.json,
        csv: opts.table.is_csv().then(csv::channel_text::table),
        names_source: writers > 1,
        names_channel: opts.text.len() > 1,
    };
    if opts.table.json {
        out.write_all(first_line("packets").as_bytes())?;
    }
    let (mut written, mut lines) = (BTreeSet::new(), 0);
    let mut readable = Readable::default();
    for buffer in buffers {
        let mut printed = Ok(());
        let read = progress::on(trace, buffer).channel_text_of(&engine, buffer, &opts.text, |texts| {
            lines += texts.iter().filter(|text| matches!(text.kind, TextKind::Line { .. })).count();
            printed = texts.iter().try_for_each(|text| print.text(&mut out, buffer, text));
            if printed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        printed?;
        out.flush()?;
        outcome = outcome.and(report_read(buffer, &read, false));
        readable.note(capture, buffer, &read);
        written.extend(read.value);
    }
    // The names of the columns, if nothing came after them.
    out.write_all(print.csv.as_mut().map(Csv::take).unwrap_or_default().as_bytes())?;
    if opts.table.json {
        out.write_all(last_line("packets", &outcome).as_bytes())?;
    }
    out.flush()?;
    readable.refuse_nothing()?;
    if lines == 0 {
        remark(&nothing(&opts.text, &written));
    }
    Ok(outcome)
}

/// Says that there is no text, and where something was written.
fn nothing(wanted: &[u32], written: &BTreeSet<u32>) -> String {
    const SHOWN: usize = 16;
    let listed = |channels: Vec<String>| channels.join(", ");
    let wanted = listed(wanted.iter().map(u32::to_string).collect());
    let some = listed(written.iter().take(SHOWN).map(u32::to_string).collect());
    let more = if written.len() > SHOWN { ", ..." } else { "" };
    let others = if written.is_empty() { String::new() } else { format!("; something was to {some}{more}") };
    format!("no text was written to port or channel {wanted}{others}")
}

/// A printer of text.
struct Print<'a> {
    capture: &'a Capture,
    is_json: bool,
    csv: Option<Csv<7>>,
    /// Set if lines need the names of their sources, or the numbers of their channels.
    names_source: bool,
    names_channel: bool,
}

impl Print<'_> {
    fn text(&mut self, out: &mut impl Write, buffer: &Buffer, text: &ChannelText) -> io::Result<()> {
        match &mut self.csv {
            Some(csv) => {
                csv::channel_text::row(csv, &buffer.name, text);
                out.write_all(csv.take().as_bytes())
            }
            None if self.is_json => writeln!(out, "{}", text.json(&buffer.name)),
            None => self.line(out, text),
        }
    }

    /// Writes a line as it was written, after what tells it from those of others.
    fn line(&self, out: &mut impl Write, ChannelText { source, kind, .. }: &ChannelText) -> io::Result<()> {
        let mut before = String::new();
        if self.names_source {
            let _ = write!(before, "{} ", Printable(&self.capture.sources[*source].name));
        }
        match kind {
            TextKind::Line { master, channel, text } => {
                if let Some(master) = master {
                    let _ = write!(before, "master {master} ");
                }
                if self.names_channel {
                    let _ = write!(before, "{} {channel} ", words::channel(master.as_ref()));
                }
                if !before.is_empty() {
                    write!(out, "{}: ", before.trim_end())?;
                }
                for (index, part) in text.split('\t').enumerate() {
                    write!(out, "{}{}", if index > 0 { "\t" } else { "" }, Printable(part))?;
                }
                writeln!(out)
            }
            TextKind::Gap { reason, times } => {
                let times = if *times > 1 { format!(", {times} times") } else { String::new() };
                writeln!(out, "{before}[trace is missing{times}: {}]", words::gap(*reason))
            }
        }
    }
}
