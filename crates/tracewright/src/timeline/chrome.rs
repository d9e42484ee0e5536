//! Chrome's trace events in JSON, which Perfetto reads too, written as they come.

use std::io::{self, Write};

use serde_json::json;

use super::slices::{Event, Unit, Viewer};
use tracewright_flow::hash::HashMap;

/// Writes a timeline in Chrome's JSON format.
#[derive(Debug)]
pub struct Chrome<W> {
    output: W,
    hertz: u64,
    /// Names as JSON, by source and function.
    names: HashMap<(usize, u32), String>,
    is_first: bool,
}

impl<W: Write> Chrome<W> {
    /// Writes to `output`. `hertz` is the rate of times, at least 1.
    pub fn new(output: W, hertz: u64) -> Self {
        Self { output, hertz, names: HashMap::default(), is_first: true }
    }

    /// Writes the separator before an event.
    fn next(&mut self) -> io::Result<()> {
        let before: &[u8] = if self.is_first { b"{\"traceEvents\":[\n" } else { b",\n" };
        self.is_first = false;
        self.output.write_all(before)
    }
}

impl<W: Write> Viewer for Chrome<W> {
    fn event(&mut self, source: usize, thread: u32, time: u64, event: Event<'_>) -> io::Result<()> {
        self.next()?;
        let ts = Micros(time, self.hertz);
        match event {
            Event::Begin(function, name) => {
                let name = self.names.entry((source, function)).or_insert_with(|| json!(name).to_string());
                write!(
                    self.output,
                    "{{\"ph\":\"B\",\"pid\":{source},\"tid\":{thread},\"ts\":{ts},\"name\":{name}}}"
                )
            }
            Event::Timestamp => {
                write!(
                    self.output,
                    "{{\"ph\":\"i\",\"s\":\"t\",\"pid\":{source},\"tid\":{thread},\"ts\":{ts},\"name\":\"timestamp\"}}"
                )
            }
            Event::Instant(text) => {
                let name = json!(text);
                write!(
                    self.output,
                    "{{\"ph\":\"i\",\"s\":\"t\",\"pid\":{source},\"tid\":{thread},\"ts\":{ts},\"name\":{name}}}"
                )
            }
            Event::End => {
                write!(self.output, "{{\"ph\":\"E\",\"pid\":{source},\"tid\":{thread},\"ts\":{ts}}}")
            }
        }
    }

    fn source(&mut self, source: usize, name: &str, unit: Unit, threads: &[String]) -> io::Result<()> {
        let name = format!("{name} (times in {})", unit.words());
        self.next()?;
        let args = json!({ "name": name });
        write!(self.output, "{{\"ph\":\"M\",\"pid\":{source},\"name\":\"process_name\",\"args\":{args}}}")?;
        for (number, thread) in threads.iter().enumerate() {
            self.next()?;
            let args = json!({ "name": thread });
            write!(
                self.output,
                "{{\"ph\":\"M\",\"pid\":{source},\"tid\":{number},\"name\":\"thread_name\",\"args\":{args}}}"
            )?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.is_first {
            self.output.write_all(b"{\"traceEvents\":[")?;
        }
        self.output.write_all(b"\n],\"displayTimeUnit\":\"ns\"}\n")?;
        self.output.flush()
    }
}

/// A time and its rate in hertz, printed in microseconds with up to six decimals.
struct Micros(u64, u64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let picoseconds = u128::from(self.0) * 1_000_000_000_000 / u128::from(self.1.max(1));
        let (whole, rest) = (picoseconds / 1_000_000, picoseconds % 1_000_000);
        match format!("{rest:06}").trim_end_matches('0') {
            "" => write!(f, "{whole}"),
            digits => write!(f, "{whole}.{digits}"),
        }
    }
}
