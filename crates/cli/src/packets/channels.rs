//! `packets --text`: text that software wrote to stimulus ports and channels.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::ControlFlow;

use serde_json::{Value, json};
use tracewright::channel_text::{ChannelText, TextKind};
use tracewright::csv::{Cell, Csv};
use tracewright::{Capture, words};
use tracewright_core::text::Printable;
use tracewright_input::{Buffer, Source};

use super::Opts;
use crate::json::{address, first_line, last_line};
use crate::output::{Error, Outcome, Output, Readable, remark, report, report_problem};
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
        csv: opts.table.is_csv().then(|| Csv::new("buffer,offset,id,kind,master,channel,text")),
        names_source: writers > 1,
        names_channel: opts.text.len() > 1,
    };
    if opts.table.json {
        out.write_all(first_line("packets").as_bytes())?;
    }
    let (mut written, mut lines) = (BTreeSet::new(), 0);
    let (mut reasons, mut readable) = (BTreeSet::new(), Readable::default());
    for buffer in buffers {
        let mut printed = Ok(());
        let read = progress::on(trace, buffer).channel_text_of(&engine, buffer, &opts.text, |texts| {
            lines += texts.iter().filter(|text| matches!(text.kind, TextKind::Line { .. })).count();
            printed = texts.iter().try_for_each(|text| print.text(&mut out, buffer, text));
            if printed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        printed?;
        out.flush()?;
        read.diagnostics.iter().for_each(report_problem);
        read.unread.iter().for_each(|line| report(line));
        for line in words::packet_faults(&read.tally) {
            report(&format!("{}: {line}", buffer.name));
        }
        outcome = outcome.and(Outcome::of(&read));
        reasons.extend(read.reason_ids());
        readable.note(capture, buffer, &read);
        written.extend(read.value);
    }
    // The names of the columns, if nothing came after them.
    out.write_all(print.csv.as_mut().map(Csv::take).unwrap_or_default().as_bytes())?;
    if opts.table.json {
        out.write_all(last_line("packets", &reasons).as_bytes())?;
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
    let listed = |channels: &mut dyn Iterator<Item = &u32>| {
        channels.map(u32::to_string).collect::<Vec<_>>().join(", ")
    };
    let mut line = format!("no text was written to channel {}", listed(&mut wanted.iter()));
    if !written.is_empty() {
        let _ = write!(line, "; something was to {}", listed(&mut written.iter().take(SHOWN)));
        if written.len() > SHOWN {
            let _ = write!(line, " and {} more", written.len() - SHOWN);
        }
    }
    line
}

/// A printer of text.
struct Print<'a> {
    capture: &'a Capture,
    is_json: bool,
    csv: Option<Csv<7>>,
    /// Whether a line needs the name of its source, and the number of its channel.
    names_source: bool,
    names_channel: bool,
}

impl Print<'_> {
    fn text(&mut self, out: &mut impl Write, buffer: &Buffer, text: &ChannelText) -> io::Result<()> {
        match &mut self.csv {
            Some(csv) => {
                csv.row(cells(&buffer.name, text));
                out.write_all(csv.take().as_bytes())
            }
            None if self.is_json => writeln!(out, "{}", object(&buffer.name, text)),
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
                    let _ = write!(before, "channel {channel} ");
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

fn cells<'t>(buffer: &'t str, ChannelText { id, offset, kind, .. }: &'t ChannelText) -> [Cell<'t>; 7] {
    let (kind, master, channel, text) = match kind {
        TextKind::Line { master, channel, text } => {
            ("text", master.map(u32::from), Some(*channel), text.as_str())
        }
        TextKind::Gap { reason, .. } => ("gap", None, None, words::gap(*reason)),
    };
    let id = u32::from(*id);
    [buffer.into(), (*offset).into(), id.into(), kind.into(), master.into(), channel.into(), text.into()]
}

fn object(buffer: &str, ChannelText { id, offset, time, kind, .. }: &ChannelText) -> Value {
    let mut object = json!({ "buffer": buffer, "offset": offset, "id": id });
    let mut add = |name: &str, value: Option<Value>| value.map(|value| object[name] = value);
    match kind {
        TextKind::Line { master, channel, text } => {
            add("kind", Some("text".into()));
            add("master", master.map(Value::from));
            add("channel", Some((*channel).into()));
            add("text", Some(text.as_str().into()));
        }
        TextKind::Gap { reason, times } => {
            add("kind", Some("gap".into()));
            add("reason", Some(words::gap(*reason).into()));
            add("times", Some((*times).into()));
        }
    }
    add("time", time.map(|time| address(time).into()));
    object
}
