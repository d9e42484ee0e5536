//! `decode --calls`: functions entered and left, and the call stack where the trace ends.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tracewright::calls::{CallEvent, CallKind, How, StackFrame};
use tracewright::{Source, Trace, names};
use tracewright_core::text::Printable;

use crate::json::address;
use crate::terminal::width;
use tracewright_engine::Line;

/// What the columns are.
pub const COLUMNS: &str = "    offset id   depth  function\n";

/// Columns before a function, and the deepest call that is indented further than the one before it.
const HEAD: usize = 23;
const DEEPEST: usize = 12;

/// Writes calls as lines.
pub struct Calls<'a> {
    pub trace: &'a Trace,
    /// The buffer's name, if lines are JSON objects.
    pub json: Option<&'a str>,
    /// Calls that were too deep to be followed.
    pub too_deep: u64,
}

impl Calls<'_> {
    pub fn line(&mut self, line: &mut Line, event: &CallEvent) {
        if let CallKind::Backtrace { too_deep, .. } = event.kind {
            self.too_deep += too_deep;
        }
        match self.json {
            Some(buffer) => {
                let _ = writeln!(line, "{}", self.object(buffer, event));
            }
            None => self.text(line, event),
        }
    }

    fn source(&self, event: &CallEvent) -> Source<'_> {
        Source { index: event.source, id: event.id, of: &self.trace.capture().sources[event.source] }
    }

    fn text(&self, line: &mut Line, event: &CallEvent) {
        if let CallKind::Backtrace { frames, is_lost, .. } = &event.kind {
            return self.backtrace(line, event, frames, *is_lost);
        }
        line.hex(event.offset, 10);
        let indent = 2 * event.depth.min(DEEPEST);
        let _ = write!(line, " {:#04x} {:5}  {:indent$}", event.id, event.depth, "");
        let room = width().saturating_sub(HEAD + indent + 2).max(20);
        match &event.kind {
            CallKind::Enter { function, how, .. } => {
                let how = words(*how);
                let _ = write!(line, "> {}{how}", names::cut(function, room - how.len().min(14)));
            }
            CallKind::Leave { function, instructions } => {
                let count =
                    format!("  {instructions} instruction{}", if *instructions == 1 { "" } else { "s" });
                let _ = write!(
                    line,
                    "< {}{count}",
                    names::cut(function, room.saturating_sub(count.len()).max(12))
                );
            }
            CallKind::Exception(exception) => {
                let _ = write!(line, "! exception {}", self.source(event).exception_name(exception));
            }
            CallKind::ExceptionReturn => {
                line.text("! exception return");
            }
            CallKind::Gap { times: 1 } => {
                line.text("? something is missing: callers may be lost");
            }
            CallKind::Gap { times } => {
                let _ = write!(line, "? something is missing, {times} times: callers may be lost");
            }
            CallKind::Backtrace { .. } => {}
        }
        line.text("\n");
    }

    /// The call stack, as debuggers write it.
    fn backtrace(&self, line: &mut Line, event: &CallEvent, frames: &[StackFrame], is_lost: bool) {
        let source = Printable(&self.source(event).of.name);
        let what = match is_lost {
            false => "the call stack where the trace ends",
            true => "the last call stack that is known: what ran after it is missing",
        };
        let _ = writeln!(line, "\n{source} ({:#04x}): {what}", event.id);
        for (number, frame) in frames.iter().enumerate() {
            let _ = write!(line, "#{number:<3} ");
            match frame.address {
                Some(address) => line.hex(address, 18).text("  "),
                None => line.blanks(20),
            };
            let source =
                line_at(number, frame).and_then(|at| names::source(self.trace.image(), at, event.space));
            let source = source.map_or(String::new(), |source| format!("  {source}"));
            let room = width().saturating_sub(25 + source.len() + 12).max(20);
            let _ = writeln!(line, "{}{}{source}", names::cut(&frame.function, room), words(frame.how));
        }
    }

    fn object(&self, buffer: &str, event: &CallEvent) -> Value {
        let mut object = json!({
            "buffer": buffer, "offset": event.offset, "id": event.id, "depth": event.depth,
        });
        let more = match &event.kind {
            CallKind::Enter { function, address: at, how } => {
                json!({"kind": "enter", "function": &**function, "address": address(*at), "how": key(*how)})
            }
            CallKind::Leave { function, instructions } => {
                json!({"kind": "leave", "function": &**function, "instructions": instructions})
            }
            CallKind::Exception(exception) => json!({
                "kind": "exception", "number": exception.number,
                "name": self.source(event).exception_name(exception),
            }),
            CallKind::ExceptionReturn => json!({"kind": "exception return"}),
            CallKind::Gap { times } => json!({"kind": "gap", "times": times}),
            CallKind::Backtrace { frames, is_lost, too_deep } => {
                let frame = |(number, frame): (usize, &StackFrame)| {
                    let symbols = self.trace.image().symbols();
                    let source = line_at(number, frame).and_then(|at| symbols.source(at, event.space));
                    json!({
                        "function": &*frame.function, "address": frame.address.map(address),
                        "how": key(frame.how), "file": source.as_ref().map(|source| source.file.to_string()),
                        "line": source.as_ref().map(|source| source.line),
                    })
                };
                let frames: Vec<_> = frames.iter().enumerate().map(frame).collect();
                json!({"kind": "backtrace", "lost": is_lost, "calls_too_deep": too_deep, "frames": frames})
            }
        };
        if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
            object.extend(more);
        }
        object
    }
}

/// The address whose line a frame is at: of a caller, that of the call, which is before the address it returns to.
fn line_at(number: usize, frame: &StackFrame) -> Option<u64> {
    frame.address.map(|address| address.saturating_sub(u64::from(number > 0)))
}

/// How a function was entered, if not by a call.
fn words(how: How) -> &'static str {
    match how {
        How::Call => "",
        How::Found => " (was running)",
        How::Tail => " (tail call)",
        How::Exception => " (handler)",
        How::Part => " (jumped into)",
    }
}

fn key(how: How) -> &'static str {
    match how {
        How::Call => "call",
        How::Found => "found",
        How::Tail => "tail call",
        How::Exception => "exception",
        How::Part => "part",
    }
}
