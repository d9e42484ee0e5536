//! Rows of a trace that is decoded without its program: where branches went, events and timestamps, with the cycle of each.
//!
//! [`TargetRows`] decodes to the rows that a [`RowWriter`] writes; [`TextRows`] writes them in columns of type, cycle and value, as
//! the FPGA decoder does, and [`JsonRows`] as objects.
//!
//! The cycle of a row is that of the last P0 element (a branch, an exception) up to it whose cycle the trace tells, counted
//! from where the trace began: the decoder tells a count before all else that it tells of its element
//! ([`no_image`](tracewright_etm::decode::Options::no_image)), so that it is the sum of the counts so far. It goes on over a Trace On, over
//! a gap, and where the trace unit says that it does not know a count.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use tracewright_core::{Context, Element, TraceOn, Transaction};
use tracewright_engine::{At, Consumer, Line, Source};
use tracewright_etm::Params;
use tracewright_input::Protocol;

use crate::listing::json::{fields, quoted_name};
use crate::listing::messages;
use crate::words;

/// Returns what a source's trace lacks of the targets of branches, if it lacks any.
pub fn lacks_targets(source: &tracewright_input::Source) -> Option<&'static str> {
    match &source.protocol {
        Protocol::Etm(_) => {
            let is_on = source.register("TRCCONFIGR").is_some_and(|value| value >> 3 & 1 == 1);
            match source.register("TRCBBCTLR") {
                _ if !is_on => {
                    Some("no branch broadcast (TRCCONFIGR.BB): only targets of indirect branches are known")
                }
                Some(1..) => Some("branch broadcast is limited to some addresses (TRCBBCTLR)"),
                _ => None,
            }
        }
        Protocol::Etrace(_) => Some("only targets of indirect branches are known"),
        Protocol::Registered(params) => params.lacks_targets(),
        Protocol::Unsupported(..) => None,
    }
}

/// Number of events that a trace unit can have.
const EVENTS: u8 = 4;

/// Name of an event. Parses from `0=L1D_CACHE_REFILL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventName {
    /// Number of the event.
    pub number: u8,
    /// Its name.
    pub name: String,
}

/// Error of [`EventName`]: the text is not a name of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEventName {
    /// There is no `=`.
    Text,
    /// No event has this number.
    Number,
}

impl FromStr for EventName {
    type Err = NoEventName;

    fn from_str(text: &str) -> Result<Self, NoEventName> {
        let (number, name) = text.split_once('=').ok_or(NoEventName::Text)?;
        let number = number.parse().ok().filter(|&number| number < EVENTS).ok_or(NoEventName::Number)?;
        Ok(Self { number, name: name.into() })
    }
}

impl fmt::Display for NoEventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "expected NUMBER=NAME",
            Self::Number => "expected the number of an event, 0 to 3",
        })
    }
}

impl std::error::Error for NoEventName {}

/// Row of an element.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Type of the element, in at most four letters.
    pub kind: &'static str,
    /// Cycle, where the trace unit counts cycles.
    pub cycle: Option<u64>,
    /// Number of the event, if the row is of one.
    pub event: Option<u8>,
}

/// A writer of rows.
pub trait RowWriter: Sync {
    /// Writes the row of an element.
    fn row(&self, line: &mut Line, at: &At<'_>, element: &Element, row: Row);
}

/// Consumer that writes the rows of elements, in order.
#[derive(Debug)]
pub struct TargetRows<W>(pub W);

/// State of a source up to a row.
#[derive(Debug, Default)]
pub struct RowState {
    cycle: u64,
    /// The context shown last.
    context: Option<Context>,
}

impl RowState {
    fn take(&mut self, element: &Element) {
        match *element {
            Element::Cycles(Some(cycles)) => self.cycle = self.cycle.wrapping_add(cycles.into()),
            Element::TraceOn(_) | Element::Lost(_) | Element::Gap { .. } => self.context = None,
            _ => {}
        }
    }
}

impl<W: RowWriter> Consumer for TargetRows<W> {
    type State = RowState;
    type Output = Line;

    #[inline]
    fn element(&self, state: &mut RowState, line: &mut Line, at: &At<'_>, element: &Element) {
        state.take(element);
        let cycle = counted(at, state.cycle);
        match *element {
            Element::Cycles(Some(_)) | Element::Lost(_) | Element::End => {}
            Element::Target { branch, .. } => {
                let kind = if branch { "Br" } else { "At" };
                self.0.row(line, at, element, Row { kind, cycle, event: None });
            }
            Element::Event(events) => {
                for number in (0..EVENTS).filter(|number| events >> number & 1 == 1) {
                    self.0.row(line, at, element, Row { kind: "Evt", cycle, event: Some(number) });
                }
            }
            Element::Context(context, _) if state.context.replace(context) == Some(context) => {}
            _ => self.other(line, at, element, state.cycle),
        }
    }

    fn passed(&self, state: &mut RowState, _source: &Source<'_>, element: &Element) {
        state.take(element);
    }

    /// Cycles are summed up from the beginning.
    fn in_order(&self) -> bool {
        true
    }

    fn needs_all(&self) -> bool {
        true
    }

    /// Output is taken piece by piece, in order: nothing is left to merge.
    fn merge(&self, _: &mut Line, _: Line) {}

    fn len(&self, line: &Line) -> usize {
        line.bytes().len()
    }

    fn clear(&self, line: &mut Line) {
        line.clear();
    }
}

/// Returns the cycle, where the trace unit counts cycles.
fn counted(at: &At<'_>, cycle: u64) -> Option<u64> {
    at.source.etm().is_some_and(Params::cycle_counting).then_some(cycle)
}

impl<W: RowWriter> TargetRows<W> {
    #[cold]
    fn other(&self, line: &mut Line, at: &At<'_>, element: &Element, cycle: u64) {
        // What was lost has no cycle.
        let (kind, cycle) = match element {
            Element::Context(..) => ("Ctx", Some(cycle)),
            Element::TraceOn(_) => ("On", Some(cycle)),
            Element::Exception(_) => ("Exc", Some(cycle)),
            Element::ExceptionReturn => ("Ret", Some(cycle)),
            // What it counts itself is from the last count.
            Element::Timestamp { cycles, .. } => ("Ts", Some(cycle.wrapping_add(cycles.unwrap_or(0).into()))),
            Element::TimestampMarker => ("Mark", Some(cycle)),
            Element::Cycles(_) => ("Cyc", Some(cycle)),
            Element::UnknownPath { .. } => ("Q", Some(cycle)),
            Element::Trigger => ("Trig", Some(cycle)),
            Element::Message(_) => ("Msg", Some(cycle)),
            Element::Instrumentation { .. } => ("Ite", Some(cycle)),
            Element::Transaction(_) => ("Tx", Some(cycle)),
            Element::Gap { .. } => ("Gap", None),
            // What only a program can tell.
            _ => return,
        };
        let cycle = cycle.and_then(|cycle| counted(at, cycle));
        self.0.row(line, at, element, Row { kind, cycle, event: None });
    }
}

/// Writer of rows in columns.
#[derive(Debug)]
pub struct TextRows {
    /// Set for a column with the number of the source.
    pub ids: bool,
    /// Names of events.
    pub events: Vec<EventName>,
}

impl TextRows {
    /// Returns the line above all rows.
    pub fn columns(&self) -> &'static str {
        if self.ids { "id    type      cycle  value\n" } else { "type      cycle  value\n" }
    }

    fn value(&self, line: &mut Line, at: &At<'_>, element: &Element) -> fmt::Result {
        match element {
            Element::Context(context, _) => {
                let bits = if context.is_64bit { "AArch64" } else { "AArch32" };
                write!(line, "EL{} {bits} {}", context.level, context.security)?;
                if let Some(id) = context.context_id {
                    write!(line, " CID {id:#x}")?;
                }
                context.vmid.map_or(Ok(()), |vmid| write!(line, " VMID {vmid:#x}"))
            }
            Element::TraceOn(TraceOn::Normal) => line.write_str("trace on"),
            Element::TraceOn(TraceOn::Overflow) => line.write_str("trace on after overflow"),
            Element::TraceOn(TraceOn::Debug) => line.write_str("trace on after debug"),
            Element::Exception(exception) => {
                line.text(&at.source.exception_name(exception));
                exception.return_address.map_or(Ok(()), |address| write!(line, ", returns to {address:#x}"))
            }
            Element::ExceptionReturn => line.write_str("exception return"),
            Element::Timestamp { value, .. } => write!(line, "{value:#x}"),
            Element::TimestampMarker => line.write_str("of a later timestamp"),
            Element::Cycles(_) => line.write_str("unknown how many: counting goes on from here"),
            Element::UnknownPath { next, count, .. } => {
                write!(line, "{next:#x}, ")?;
                match count {
                    Some(count) => {
                        write!(line, "{} on an unknown path", words::count((*count).into(), "instruction"))
                    }
                    None => line.write_str("on an unknown path"),
                }
            }
            Element::Message(message) => messages::message(line, at, message),
            Element::Instrumentation { level, value } => write!(line, "{value:#x} from EL{level}"),
            Element::Transaction(transaction) => line.write_str(match transaction {
                Transaction::Before => "began before the trace",
                Transaction::Start => "start",
                Transaction::Commit => "commit",
                Transaction::Fail => "failed",
            }),
            Element::Gap { reason, from, to } => {
                write!(line, "{from:#x}..{to:#x}: {}", words::gap(*reason))
            }
            _ => Ok(()),
        }
    }
}

impl RowWriter for TextRows {
    #[inline]
    fn row(&self, line: &mut Line, at: &At<'_>, element: &Element, row: Row) {
        if self.ids {
            let _ = write!(line, "{:#04x}  ", at.source.id);
        }
        line.text(row.kind).blanks(5usize.saturating_sub(row.kind.len()));
        match row.cycle {
            Some(cycle) => line.hex(cycle, 10),
            None => line.blanks(10),
        };
        line.text("  ");
        match (element, row.event) {
            (Element::Target { address, .. }, _) => {
                line.hex(*address, 0);
            }
            (_, Some(number)) => {
                match self.events.iter().find(|event| event.number == number) {
                    Some(event) => line.text(&event.name),
                    None => line.decimal(number.into()),
                };
            }
            _ => {
                let _ = self.value(line, at, element);
            }
        }
        line.text("\n");
    }
}

/// Writer of rows as JSON objects: the fields that elements have in all listings, and their cycle.
#[derive(Debug)]
pub struct JsonRows {
    buffer: String,
    events: Vec<EventName>,
}

impl JsonRows {
    /// Creates a writer for the buffer with this name.
    pub fn new(buffer: &str, events: Vec<EventName>) -> Self {
        Self { buffer: quoted_name(buffer), events }
    }
}

impl RowWriter for JsonRows {
    fn row(&self, line: &mut Line, at: &At<'_>, element: &Element, row: Row) {
        line.text(r#"{"buffer":"#).text(&self.buffer);
        line.text(r#","offset":"#).decimal(at.place.offset).text(r#","id":"#).decimal(at.source.id.into());
        match row.cycle {
            Some(cycle) => line.text(r#","cycle":"#).decimal(cycle),
            None => line.text(r#","cycle":null"#),
        };
        match row.event {
            Some(number) => {
                let name = self.events.iter().find(|event| event.number == number);
                let name = serde_json::to_string(&name.map(|event| &event.name)).unwrap_or_default();
                line.text(r#","kind":"event","event":"#).decimal(number.into());
                line.text(r#","name":"#).text(&name);
            }
            None => {
                let _ = fields(line, at, element);
            }
        }
        line.text("}\n");
    }
}
