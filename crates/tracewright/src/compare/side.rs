//! One of the two traces: its packets in order, each with what it makes a decoder report.

use std::collections::VecDeque;

use serde_json::{Map, Value};
use tracewright_core::{Block, Context, Element, Exception, Isa, TraceOn};
use tracewright_engine::{Found, Line, Lost, Place, Role, Source, Visitor};

use crate::ahead::{Ahead, Batches};
use crate::error::Error;
use crate::outcome::Outcome;
use crate::pull::{Elements, Traced};
use crate::trace::Trace;

/// Packets of a batch, and the most batches that wait to be taken.
const BATCHES: (usize, usize) = (1024, 4);

/// Fields of a packet by name.
pub type Fields = Map<String, Value>;

/// A packet, and what it reports.
#[derive(Clone, Debug)]
pub struct Step {
    /// Number of its source in the buffer; `None` if it belongs to none.
    pub id: Option<u16>,
    /// Offset in the trace file.
    pub offset: u64,
    /// Its bytes; empty for bytes that were skipped.
    pub bytes: Vec<u8>,
    /// Its kind, as the specification names it.
    pub kind: &'static str,
    /// Role of its kind.
    pub role: Role,
    /// Its contents as text.
    pub text: String,
    /// Its fields.
    pub fields: Fields,
    /// Elements that it makes a decoder report, in an order and form that do not depend on the packets.
    pub did: Vec<Did>,
    /// Instructions that ran up to here, with those that this packet reports.
    pub after: u64,
    /// Whether it reports more than was read.
    pub is_endless: bool,
}

/// Most elements that are read of a packet that only one trace has.
const MOST: usize = 1 << 22;

/// Runs that are remembered for the instructions before a difference.
pub const RUNS: usize = 4;

/// Adds what a decoder reports. Instructions in a row are one run, whatever cuts them, and runs that repeat are counted.
pub fn add(all: &mut Vec<Did>, did: Did) {
    let Did::Ran(mut run) = did else { return all.push(did) };
    if let Some(Did::Ran(last)) = all.last().copied()
        && last.end == run.start
        && last.isa == run.isa
    {
        all.pop();
        if last.times > 1 {
            all.push(Did::Ran(Run { times: last.times - 1, ..last }));
        }
        run = Run { start: last.start, count: last.count + run.count, ..run };
    }
    match all.last_mut() {
        Some(Did::Ran(last)) if Run { times: 1, ..*last } == Run { times: 1, ..run } => {
            last.times += run.times;
        }
        _ => all.push(Did::Ran(run)),
    }
}

/// What a decoder reports, as far as all traces of one execution agree on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Did {
    /// Instructions in a row.
    Ran(Run),
    /// A new context.
    Context(Context, Isa),
    /// Tracing began.
    TraceOn(TraceOn),
    /// An exception.
    Exception(Exception),
    /// A return from an exception.
    ExceptionReturn,
    /// Anything else but times.
    Other(Element),
}

/// Instructions that follow one another in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Address of the first.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Number of instructions.
    pub count: u64,
    /// Instruction set.
    pub isa: Isa,
    /// How often they ran in a row: loops.
    pub times: u64,
}

impl Did {
    /// Returns an element in a form that does not depend on the packets; `None` for what a trace may tell or not.
    fn of(element: &Element) -> Option<Self> {
        Some(match *element {
            Element::Block(Block { start, end, count, isa, .. }) => {
                Self::Ran(Run { start, end, count: count.into(), isa, times: 1 })
            }
            Element::Context(context, isa) => Self::Context(context, isa),
            Element::TraceOn(reason) => Self::TraceOn(reason),
            Element::Exception(exception) => Self::Exception(exception),
            Element::ExceptionReturn => Self::ExceptionReturn,
            // Packets tell these, which are compared themselves.
            Element::Timestamp { .. }
            | Element::TimestampMarker
            | Element::Cycles(_)
            | Element::LocalTime { .. }
            | Element::Event(_)
            | Element::Data { .. }
            | Element::Gap { .. }
            | Element::Target { .. }
            | Element::End => return None,
            other => Self::Other(other),
        })
    }
}

/// Packets of a trace with their fields, in the order in which they end in the file.
#[derive(Debug)]
pub struct Packets(Ahead<Step, Result<Outcome<()>, Error>>);

impl Packets {
    /// Starts to read.
    pub fn new(trace: &Trace) -> Self {
        let trace = trace.clone();
        Self(Ahead::new(BATCHES, move |batches| trace.read_packets(&mut Gather(batches))))
    }

    /// Stops reading.
    ///
    /// # Errors
    /// Fails if the trace could not be read.
    pub fn finish(self) -> Result<Outcome<()>, Error> {
        self.0.finish()
    }
}

impl Iterator for Packets {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        self.0.next()
    }
}

impl Step {
    /// Takes a packet where it is found.
    pub fn of(found: &Found<'_>) -> Self {
        let mut line = Line::default();
        found.packet.words(&mut line);
        let text = String::from_utf8_lossy(line.bytes()).into_owned();
        line.clear();
        found.packet.fields(&mut line);
        let fields = String::from_utf8_lossy(line.bytes());
        let fields = serde_json::from_str(&format!("{{{}}}", fields.trim_start_matches(',')));
        Self {
            id: found.source.map(|source| source.id),
            offset: found.place.offset,
            bytes: found.bytes.to_vec(),
            kind: found.kind.name,
            role: found.kind.role,
            text,
            fields: fields.unwrap_or_default(),
            did: Vec::new(),
            after: 0,
            is_endless: false,
        }
    }
}

/// Reads packets for [`Packets`].
struct Gather(Batches<Step>);

impl Gather {
    fn skipped(&mut self, offset: u64, text: String) {
        let (bytes, fields, did) = (Vec::new(), Fields::new(), Vec::new());
        let (kind, role) = ("Skipped", Role::Skipped);
        self.0.push(Step {
            id: None,
            offset,
            bytes,
            kind,
            role,
            text,
            fields,
            did,
            after: 0,
            is_endless: false,
        });
    }
}

impl Visitor for Gather {
    fn packet(&mut self, found: &Found<'_>) {
        if !found.is_filler {
            self.0.push(Step::of(found));
        }
    }

    fn skipped(&mut self, _: &Source<'_>, place: Place, bytes: &[u8]) {
        self.skipped(place.offset, format!("{} bytes that are no packet", bytes.len()));
    }

    fn lost(&mut self, lost: &Lost) {
        self.skipped(lost.offset, format!("{} bytes lost: {}", lost.len, lost.reason));
    }

    fn is_done(&self) -> bool {
        self.0.is_done()
    }
}

/// A trace that is being read.
pub struct Side {
    packets: Packets,
    /// The packet after the last.
    next: Option<Step>,
    elements: Elements,
    /// The element after the last.
    element: Option<Traced<Element>>,
    /// Instructions so far.
    ran: u64,
    context: Option<(Context, Isa)>,
    /// Packets that were read already.
    back: VecDeque<Step>,
}

impl Side {
    pub fn new(trace: &Trace) -> Self {
        let mut packets = Packets::new(trace);
        let mut elements = trace.elements();
        let (next, element) = (packets.next(), elements.next());
        Self { packets, next, elements, element, ran: 0, context: None, back: VecDeque::new() }
    }

    /// Returns the next packet, without what it reports.
    pub fn peek(&self) -> Option<&Step> {
        self.back.front().or(self.next.as_ref())
    }

    /// Takes the next packet with the elements that come before the packet after it.
    pub fn step(&mut self) -> Option<Step> {
        self.take(MOST)
    }

    /// Takes the next packet, which the other trace has, too: only the last runs that it reports are kept.
    pub fn common(&mut self) -> Option<Step> {
        self.take(0)
    }

    fn take(&mut self, most: usize) -> Option<Step> {
        if let Some(step) = self.back.pop_front() {
            return Some(step);
        }
        let mut step = self.next.take()?;
        self.next = self.packets.next();
        let until = self.next.as_ref().map_or(u64::MAX, |next| next.offset);
        let mut read = 0;
        while let Some(of) = self.element.take_if(|of| of.offset < until) {
            if most > 0 && read == most {
                // A wrong count can stand for billions of instructions.
                step.is_endless = true;
                break;
            }
            read += 1;
            self.element = self.elements.next();
            let Some(did) = Did::of(&of.value) else { continue };
            match did {
                Did::Ran(run) => self.ran = self.ran.saturating_add(run.count),
                Did::Context(context, isa)
                    if self.context.replace((context, isa)) == Some((context, isa)) =>
                {
                    continue;
                }
                _ => {}
            }
            if most == 0 && step.did.len() >= 2 * RUNS {
                step.did.drain(..RUNS);
            }
            add(&mut step.did, did);
        }
        step.after = self.ran;
        Some(step)
    }

    /// Returns the instructions so far, with those of packets that were put back.
    pub fn ran(&self) -> u64 {
        self.ran
    }

    /// Stops reading.
    ///
    /// # Errors
    /// Fails if the trace could not be read.
    pub fn finish(self) -> Result<(), Error> {
        self.packets.finish()?;
        self.elements.finish()?;
        Ok(())
    }

    /// Makes packets the next ones.
    pub fn put_back(&mut self, steps: Vec<Step>) {
        for step in steps.into_iter().rev() {
            self.back.push_front(step);
        }
    }
}
