//! The Firefox Profiler's processed profile: tables of columns. Each change of the stack is a sample, weighted by how long it stays.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::slices::{Event, Unit, Viewer};
use tracewright_flow::hash::HashMap;

/// Version of the format. The profiler upgrades older versions.
const VERSION: u32 = 47;

/// Writes a timeline for the Firefox Profiler. Keeps the samples of a source in memory until the source ends.
#[derive(Debug)]
pub struct Firefox<W> {
    output: W,
    /// Units of time in a millisecond.
    per_ms: f64,
    tracks: BTreeMap<(usize, u32), Track>,
    has_head: bool,
    /// How many threads were written.
    written: usize,
}

/// A thread.
#[derive(Debug, Default)]
struct Track {
    names: Vec<String>,
    /// Functions by their numbers in the source.
    functions: HashMap<u32, u32>,
    /// Stacks by the stack below and the function.
    stacks: HashMap<(Option<u32>, u32), u32>,
    prefixes: Vec<Option<u32>>,
    frames: Vec<u32>,
    current: Option<u32>,
    /// Times at which the stack changed, and the stack from then on.
    samples: Vec<(u64, Option<u32>)>,
    /// Times that the trace gives.
    timestamps: Vec<u64>,
    /// Messages with their times.
    messages: Vec<(u64, String)>,
}

impl<W: Write> Firefox<W> {
    /// Writes to `output`. `hertz` is the rate of times, at least 1.
    pub fn new(output: W, hertz: u64) -> Self {
        let per_ms = hertz.max(1) as f64 / 1000.0;
        Self { output, per_ms, tracks: BTreeMap::new(), has_head: false, written: 0 }
    }

    /// Writes what comes before the threads, once.
    fn head(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.has_head, true) {
            return Ok(());
        }
        let meta = json!({
            "interval": 1.0, "startTime": 0, "processType": 0, "product": "tracewright", "stackwalk": 0,
            "version": 27, "preprocessedProfileVersion": VERSION, "symbolicated": true,
            "categories": [{ "name": "Other", "color": "grey", "subcategories": ["Other"] }],
            "markerSchema": [],
        });
        write!(self.output, "{{\"meta\":{meta},\"libs\":[],\"threads\":[")
    }
}

impl Track {
    fn begin(&mut self, function: u32, name: &str) {
        let names = &mut self.names;
        let function = *self.functions.entry(function).or_insert_with(|| {
            names.push(name.to_owned());
            names.len() as u32 - 1
        });
        let (prefixes, frames) = (&mut self.prefixes, &mut self.frames);
        let current = self.current;
        self.current = Some(*self.stacks.entry((current, function)).or_insert_with(|| {
            prefixes.push(current);
            frames.push(function);
            frames.len() as u32 - 1
        }));
    }

    fn end(&mut self) {
        self.current = self.current.and_then(|stack| self.prefixes[stack as usize]);
    }

    /// Adds a sample: the stack changes at this time.
    fn sample(&mut self, time: u64) {
        match self.samples.last_mut() {
            Some((last, stack)) if *last == time => *stack = self.current,
            _ => self.samples.push((time, self.current)),
        }
    }

    /// Writes the thread as JSON. Long tables are written directly.
    fn write(&self, output: &mut impl Write, about: Value, per_ms: f64) -> io::Result<()> {
        // The last sample ends the one before it.
        let ends = self.samples.iter().skip(1);
        let samples = self.samples.iter().zip(ends).filter(|((_, stack), _)| stack.is_some());
        let ms = |cycles: u64| cycles as f64 / per_ms;
        write!(output, "{{\"samples\":{{\"stack\":")?;
        array(output, samples.clone().map(|((_, stack), _)| stack.unwrap_or(0)))?;
        write!(output, ",\"time\":")?;
        array(output, samples.clone().map(|((from, _), _)| ms(*from)))?;
        write!(output, ",\"weight\":")?;
        array(output, samples.clone().map(|((from, _), (to, _))| ms(to - from)))?;
        write!(output, ",\"weightType\":\"tracing-ms\",\"length\":{}}}", samples.count())?;
        let stacks = self.frames.len();
        write!(output, ",\"stackTable\":{{\"prefix\":")?;
        array(output, self.prefixes.iter().map(|prefix| json!(prefix)))?;
        write!(output, ",\"frame\":")?;
        array(output, self.frames.iter())?;
        for column in ["category", "subcategory"] {
            write!(output, ",\"{column}\":")?;
            array(output, std::iter::repeat_n(0, stacks))?;
        }
        write!(output, ",\"length\":{stacks}}}")?;
        // An object's fields, after those above.
        let rest = self.rest(about, per_ms).to_string();
        write!(output, ",{}", rest.trim_start_matches('{'))
    }

    /// Returns the fields other than samples and stacks.
    fn rest(&self, mut about: Value, per_ms: f64) -> Value {
        let functions = self.names.len();
        let all = || (0..functions).collect::<Vec<_>>();
        let nulls = || vec![Value::Null; functions];
        let zeros = || vec![0; functions];
        about["frameTable"] = json!({
            "address": vec![-1; functions], "inlineDepth": zeros(), "category": zeros(),
            "subcategory": zeros(), "func": all(), "nativeSymbol": nulls(), "innerWindowID": nulls(),
            "implementation": nulls(), "line": nulls(), "column": nulls(), "length": functions,
        });
        about["funcTable"] = json!({
            "name": all(), "isJS": vec![false; functions], "relevantForJS": vec![false; functions],
            "resource": vec![-1; functions], "fileName": nulls(), "lineNumber": nulls(),
            "columnNumber": nulls(), "length": functions,
        });
        let marked = (!self.timestamps.is_empty()).then_some("timestamp");
        let mut strings: Vec<&str> = self.names.iter().map(String::as_str).chain(marked).collect();
        let mut marks: Vec<_> = self.timestamps.iter().map(|time| (*time, functions)).collect();
        let mut texts = HashMap::default();
        marks.extend(self.messages.iter().map(|(time, text)| {
            let name = *texts.entry(text).or_insert_with(|| {
                strings.push(text);
                strings.len() - 1
            });
            (*time, name)
        }));
        about["stringArray"] = strings.into();
        let times: Vec<_> = marks.iter().map(|(time, _)| *time as f64 / per_ms).collect();
        let names: Vec<_> = marks.iter().map(|(_, name)| *name).collect();
        let marks = marks.len();
        about["resourceTable"] = json!({ "lib": [], "name": [], "host": [], "type": [], "length": 0 });
        about["nativeSymbols"] =
            json!({ "libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0 });
        about["markers"] = json!({
            "data": vec![Value::Null; marks], "name": names, "startTime": times,
            "endTime": vec![Value::Null; marks], "phase": vec![0; marks], "category": vec![0; marks], "length": marks,
        });
        about
    }
}

fn array<T: std::fmt::Display>(output: &mut impl Write, values: impl Iterator<Item = T>) -> io::Result<()> {
    let mut before = "[";
    for value in values {
        write!(output, "{before}{value}")?;
        before = ",";
    }
    output.write_all(if before == "[" { b"[]" } else { b"]" })
}

/// Returns the fields that identify a thread.
fn about(source: usize, number: u32, name: &str, thread: &str) -> Value {
    json!({
        "processType": "default", "processName": name, "name": thread, "isMainThread": number == 0,
        "pid": source.to_string(), "tid": format!("{source}.{number}"),
        "processStartupTime": 0, "processShutdownTime": null, "registerTime": 0, "unregisterTime": null,
        "pausedRanges": [],
    })
}

impl<W: Write> Viewer for Firefox<W> {
    fn event(&mut self, source: usize, thread: u32, time: u64, event: Event<'_>) -> io::Result<()> {
        let track = self.tracks.entry((source, thread)).or_default();
        match event {
            Event::Begin(function, name) => track.begin(function, name),
            Event::End => track.end(),
            Event::Instant(text) => {
                track.messages.push((time, text.into()));
                return Ok(());
            }
            Event::Timestamp => {
                track.timestamps.push(time);
                return Ok(());
            }
        }
        track.sample(time);
        Ok(())
    }

    fn source(&mut self, source: usize, name: &str, unit: Unit, threads: &[String]) -> io::Result<()> {
        let name = format!("{name} (times in {})", unit.words());
        for (number, thread) in (0..).zip(threads) {
            let Some(track) = self.tracks.remove(&(source, number)) else { continue };
            self.head()?;
            self.output.write_all(if self.written > 0 { b",\n" } else { b"\n" })?;
            self.written += 1;
            let about = about(source, number, &name, thread);
            track.write(&mut self.output, about, self.per_ms)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.head()?;
        self.output.write_all(b"\n]}\n")?;
        self.output.flush()
    }
}
