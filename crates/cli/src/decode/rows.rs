//! `decode --no-image`: rows of type, cycle and value, as the FPGA decoder writes them.
//!
//! The cycle of a row is that of the last P0 element (a branch, an exception) up to it whose cycle the trace tells, counted
//! from where tracing began: the decoder tells a count before all else that it tells of its element
//! ([`no_image`](tracewright_etm::decode::Options::no_image)), so that it is the sum of the counts so far. It begins at 0
//! again at each Trace On, after each gap, and where the trace unit says that it does not know a count.

use std::fmt::Write as _;

use tracewright_core::{Context, Element, TraceOn, Transaction};
use tracewright_etm::Params;

use tracewright_engine::{At, Consumer, Source};

use super::json;
use super::messages;
use tracewright::words;
use tracewright_engine::Line;

/// Rows of type, cycle and value.
pub struct Rows {
    /// The buffer's name, quoted, if rows are JSON objects.
    pub json: Option<String>,
    /// Whether to tell sources apart.
    pub ids: bool,
    pub events: Vec<EventName>,
}

/// What an event is.
#[derive(Clone, Debug)]
pub struct EventName {
    pub number: u8,
    pub name: String,
}

impl std::str::FromStr for EventName {
    type Err = String;

    /// `0=L1D_CACHE_REFILL`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (number, name) = text.split_once('=').ok_or("expected NUMBER=NAME")?;
        let number = number.parse().ok().filter(|&number| number < EVENTS);
        let number = number.ok_or("expected the number of an event, 0 to 3")?;
        Ok(Self { number, name: name.into() })
    }
}

/// How many events a trace unit can have.
const EVENTS: u8 = 4;

/// What is known of a source up to a row.
#[derive(Default)]
pub struct State {
    cycle: u64,
    /// The context shown last.
    context: Option<Context>,
}

impl State {
    fn take(&mut self, element: &Element) {
        match *element {
            Element::Cycles(Some(cycles)) => self.cycle = self.cycle.wrapping_add(cycles.into()),
            Element::Cycles(None) => self.cycle = 0,
            Element::TraceOn(_) | Element::Lost(_) | Element::Gap { .. } => *self = Self::default(),
            _ => {}
        }
    }
}

impl Consumer for Rows {
    type State = State;
    type Output = Line;

    #[inline]
    fn element(&self, state: &mut State, line: &mut Line, at: &At<'_>, element: &Element) {
        state.take(element);
        match *element {
            Element::Cycles(Some(_)) | Element::Lost(_) | Element::End => {}
            Element::Target { address, branch, .. } => {
                if self.json.is_some() {
                    return self.object(line, at, element, Some(state.cycle));
                }
                self.begin(line, at, if branch { "Br" } else { "At" }, Some(state.cycle));
                line.hex(address, 0).text("\n");
            }
            Element::Event(events) => self.events(line, at, events, state.cycle),
            Element::Context(context, _) if state.context.replace(context) == Some(context) => {}
            _ => self.other(line, at, element, state.cycle),
        }
    }

    fn passed(&self, state: &mut State, _source: &Source<'_>, element: &Element) {
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

impl Rows {
    /// A line that says what the columns are.
    pub fn columns(&self) -> &'static str {
        match (&self.json, self.ids) {
            (Some(_), _) => "",
            (None, false) => "type      cycle  value\n",
            (None, true) => "id    type      cycle  value\n",
        }
    }

    /// The cycle, where the trace unit counts cycles.
    fn counted(at: &At<'_>, cycle: Option<u64>) -> Option<u64> {
        cycle.filter(|_| at.source.etm().is_some_and(Params::cycle_counting))
    }

    /// All of a row before its value.
    #[inline]
    fn begin(&self, line: &mut Line, at: &At<'_>, kind: &str, cycle: Option<u64>) {
        if self.ids {
            let _ = write!(line, "{:#04x}  ", at.source.id);
        }
        line.text(kind).blanks(5usize.saturating_sub(kind.len()));
        match Self::counted(at, cycle) {
            Some(cycle) => line.hex(cycle, 10),
            None => line.blanks(10),
        };
        line.text("  ");
    }

    /// All of an object before the fields of its element.
    fn begin_object(&self, line: &mut Line, at: &At<'_>, cycle: Option<u64>) {
        line.text(r#"{"buffer":"#).text(self.json.as_deref().unwrap_or_default());
        line.text(r#","offset":"#).decimal(at.place.offset).text(r#","id":"#).decimal(at.source.id.into());
        match Self::counted(at, cycle) {
            Some(cycle) => line.text(r#","cycle":"#).decimal(cycle),
            None => line.text(r#","cycle":null"#),
        };
    }

    /// An element as an object: the fields that it has in all of `decode`, and its cycle.
    fn object(&self, line: &mut Line, at: &At<'_>, element: &Element, cycle: Option<u64>) {
        self.begin_object(line, at, cycle);
        let _ = json::fields(line, at, element);
        line.text("}\n");
    }

    fn events(&self, line: &mut Line, at: &At<'_>, events: u8, cycle: u64) {
        for number in (0..EVENTS).filter(|number| events >> number & 1 == 1) {
            let name = self.events.iter().find(|event| event.number == number).map(|event| &event.name);
            if self.json.is_some() {
                self.begin_object(line, at, Some(cycle));
                let name = name.map_or("null".into(), |name| serde_json::to_string(name).unwrap_or_default());
                line.text(r#","kind":"event","event":"#).decimal(number.into());
                line.text(r#","name":"#).text(&name).text("}\n");
                continue;
            }
            self.begin(line, at, "Evt", Some(cycle));
            match name {
                Some(name) => line.text(name),
                None => line.decimal(number.into()),
            };
            line.text("\n");
        }
    }

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
        if self.json.is_some() {
            return self.object(line, at, element, cycle);
        }
        self.begin(line, at, kind, cycle);
        let _ = value(line, at, element);
        line.text("\n");
    }
}

/// The value of a row in words.
fn value(line: &mut Line, at: &At<'_>, element: &Element) -> std::fmt::Result {
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
        Element::Cycles(_) => line.write_str("unknown how many: counted from 0 again"),
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
