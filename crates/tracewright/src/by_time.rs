//! Elements of all sources, in the order of their timestamps.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::{ControlFlow, Range};
use std::panic::resume_unwind;
use std::path::Path;

use tracewright_core::Element;
use tracewright_engine::{At, Consumer, Problem, Source};
use tracewright_image::Image;
use tracewright_input::{Buffer, Protocol};

use crate::ahead::{Ahead, Batches};
use crate::error::Error;
use crate::excerpt::{LastElements, Listed, restrict};
use crate::outcome::Outcome;
use crate::trace::Trace;

/// Batches of a source that wait to be taken. They are the engine's, so their size does not matter.
const WAITING: (usize, usize) = (0, 2);
/// Most sources that are merged: each has a thread and batches of its own.
const MOST_SOURCES: usize = 512;

/// An element of one of several sources.
#[derive(Clone, Debug)]
pub struct TimedElement {
    /// Index of the buffer in the capture.
    pub buffer: usize,
    /// Index of the source in the capture.
    pub source: usize,
    /// Number of the source in its buffer.
    pub id: u16,
    /// The element, and the last timestamp of its source at or before it.
    pub listed: Listed,
    /// What it is ordered by; `None` if its source has no timestamp.
    order: Option<u64>,
}

/// A buffer whose elements were merged with those of others.
#[derive(Clone, Debug)]
pub struct TimedBuffer {
    /// Index of the buffer in the capture.
    pub buffer: usize,
    /// Indices of its sources that have trace and no timestamp. Their elements come last.
    pub untimed: Vec<usize>,
}

/// The elements of all chosen sources of all buffers, in the order of their timestamps. See [`Trace::elements_by_time`].
#[derive(Debug)]
pub struct ElementsByTime {
    lanes: Vec<Lane>,
    /// The lanes that have an element left, by when it ran.
    heap: BinaryHeap<Reverse<(Order, usize)>>,
}

/// Whether there is no timestamp, and the time.
type Order = (bool, u64);

/// The result of reading a source, and whether it has elements and no timestamp.
type Read = Result<(Outcome<()>, bool), Error>;

/// A source of a buffer.
#[derive(Debug)]
struct Lane {
    buffer: usize,
    source: Option<usize>,
    elements: Ahead<TimedElement, Read>,
    next: Option<TimedElement>,
}

/// The last elements of all sources together. See [`ElementsByTime::last`].
#[derive(Clone, Debug)]
pub struct LastByTime {
    /// The elements, in the order of their timestamps.
    pub elements: Vec<TimedElement>,
    /// Elements that were left out since there were too many between the instructions.
    pub dropped: u64,
    /// The outcome of each buffer. Its tally is that of the elements.
    pub buffers: Vec<Outcome<TimedBuffer>>,
}

impl TimedElement {
    fn order(&self) -> Order {
        (self.order.is_none(), self.order.unwrap_or(0))
    }
}

/// Lists elements with their times.
struct Stamper {
    buffer: usize,
    /// When the source's first timestamp was: elements before it are ordered by it, too.
    first: Option<u64>,
}

/// The time of a source.
#[derive(Default)]
struct Time {
    last: Option<u64>,
    /// The latest so far, in the unit in which sources are compared.
    latest: Option<u64>,
}

impl Time {
    fn note(&mut self, source: &Source<'_>, element: &Element) {
        // 0 means unknown.
        if let Element::Timestamp { value: value @ 1.., .. } = *element {
            self.last = Some(value);
            self.latest = self.latest.max(Some(source.of.time.map_or(value, |of| of.nanoseconds(value))));
        }
    }
}

impl Consumer for Stamper {
    type State = Time;
    type Output = Vec<TimedElement>;

    fn element(&self, time: &mut Time, list: &mut Vec<TimedElement>, at: &At<'_>, element: &Element) {
        time.note(at.source, element);
        let (offset, space) = (at.place.offset, at.space);
        let listed = Listed { offset, space, element: *element, time: time.last, stamps: None };
        let (source, id, order) = (at.source.index, at.source.id, time.latest.or(self.first));
        list.push(TimedElement { buffer: self.buffer, source, id, listed, order });
    }

    fn passed(&self, time: &mut Time, source: &Source<'_>, element: &Element) {
        time.note(source, element);
    }

    /// A timestamp holds until the next.
    fn in_order(&self) -> bool {
        true
    }

    fn needs_all(&self) -> bool {
        true
    }

    /// Output is taken piece by piece, in order: nothing is left to merge.
    fn merge(&self, _: &mut Vec<TimedElement>, _: Vec<TimedElement>) {}

    fn len(&self, list: &Vec<TimedElement>) -> usize {
        list.len()
    }

    fn size(&self, list: &Vec<TimedElement>) -> usize {
        size_of_val(&list[..])
    }

    fn clear(&self, list: &mut Vec<TimedElement>) {
        list.clear();
    }
}

impl Trace {
    /// Returns the elements of all chosen sources of all buffers, in the order of their timestamps. The time of an element is the last
    /// timestamp of its source at or before it, or the first one if there is none before. The elements of a source stay in their order, also
    /// where a timestamp is smaller than one before it. Of elements with the same time those of the first source come first, and sources
    /// without timestamps come last, one after another.
    ///
    /// Each source is decoded on a thread of its own, a little ahead of what is taken, so that memory does not grow with the trace.
    ///
    /// # Errors
    /// Fails if there is no such source or buffer, if there are too many sources, or if the trace comes from a pipe: it is read several times.
    pub fn elements_by_time(&self) -> Result<ElementsByTime, Error> {
        let mut parts = Vec::new();
        let chosen = self.buffers()?;
        for (index, buffer) in self.capture().buffers.iter().enumerate() {
            if chosen.iter().any(|of| std::ptr::eq(*of, buffer)) {
                check_file(buffer)?;
                parts.extend(self.sources_of(buffer).into_iter().map(|(source, part)| (index, source, part)));
            }
        }
        if parts.len() > MOST_SOURCES {
            let message = format!("{} sources are too many to be merged: choose some", parts.len());
            return Err(Error::Selection(message));
        }
        let is_one = parts.len() == 1;
        let lanes = parts.into_iter().map(|(buffer, source, part)| {
            let trace = if is_one { part } else { part.jobs(1) };
            let elements = Ahead::new(WAITING, move |batches| read(&trace, buffer, batches));
            Lane { buffer, source, elements, next: None }
        });
        let mut lanes: Vec<_> = lanes.collect();
        let mut heap = BinaryHeap::new();
        for (number, lane) in lanes.iter_mut().enumerate() {
            lane.next = lane.elements.next();
            heap.extend(lane.next.as_ref().map(|next| Reverse((next.order(), number))));
        }
        Ok(ElementsByTime { lanes, heap })
    }

    /// Returns the sources of a buffer that can be decoded, each with the trace of it alone. That of the first also has what belongs to none
    /// of them, so that it tells what is wrong with the rest of the buffer.
    fn sources_of(&self, buffer: &Buffer) -> Vec<(Option<usize>, Self)> {
        let all = &self.capture().sources;
        let is_decoded = |of: &usize| {
            !matches!(all[*of].protocol, Protocol::Unsupported(..)) && self.has_source(&all[*of])
        };
        let mut sources = buffer.sources.iter().copied().filter(is_decoded);
        let first = sources.next();
        let mut numbers = BTreeSet::from_iter(first.and_then(|of| all[of].number()));
        let rest: Vec<_> = sources
            .filter_map(|of| all[of].number().filter(|id| numbers.insert(*id)).map(|id| (of, id)))
            .collect();
        let of_first = self.clone().except(rest.iter().map(|(_, id)| *id).collect());
        let rest = rest.into_iter().map(|(of, id)| (Some(of), self.clone().only_source(id)));
        std::iter::once((first, of_first)).chain(rest).collect()
    }
}

/// Returns whether a buffer can be read only once.
pub(crate) fn is_pipe(buffer: &Buffer) -> bool {
    match buffer.path.metadata() {
        Ok(file) => !file.is_file(),
        Err(_) => buffer.path == Path::new("-"),
    }
}

/// Fails if a buffer can be read only once.
fn check_file(buffer: &Buffer) -> Result<(), Error> {
    if !is_pipe(buffer) {
        return Ok(());
    }
    let message =
        "sources are merged by time from a file, which is read several times: write the trace to one";
    Err(Error::Selection(format!("{}: {message}", buffer.name)))
}

/// Reads a source: up to its first timestamp, and then all of it from the beginning.
fn read(trace: &Trace, index: usize, mut batches: Batches<TimedElement>) -> Read {
    let (engine, buffer) = (trace.engine()?, &trace.capture().buffers[index]);
    let mut first = None;
    let is_found = |list: &Vec<TimedElement>, range: Range<usize>| {
        first = first.or_else(|| list[range].iter().find_map(|element| element.order));
        if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let whole = trace.split_filter().0.progress(|_| ());
    whole.decode_buffer(&engine, buffer, &Stamper { buffer: index, first: None }, true, is_found)?;
    let mut has_any = false;
    let take = |list: &Vec<_>, range: Range<usize>| {
        has_any |= !range.is_empty();
        batches.send(list[range].to_vec())
    };
    let outcome = trace.decode_buffer(&engine, buffer, &Stamper { buffer: index, first }, true, take)?;
    Ok((outcome.map(|_| ()), has_any && first.is_none()))
}

impl Iterator for ElementsByTime {
    type Item = TimedElement;

    fn next(&mut self) -> Option<TimedElement> {
        let mut top = self.heap.peek_mut()?;
        let Reverse((order, number)) = *top;
        let lane = &mut self.lanes[number];
        let next = lane.elements.next();
        match &next {
            None => {
                PeekMut::pop(top);
            }
            // The heap is put in order only when something in it changes.
            Some(next) if next.order() != order => top.0.0 = next.order(),
            Some(_) => {}
        }
        std::mem::replace(&mut lane.next, next)
    }
}

impl AsRef<Listed> for TimedElement {
    fn as_ref(&self) -> &Listed {
        &self.listed
    }
}

impl AsMut<Listed> for TimedElement {
    fn as_mut(&mut self) -> &mut Listed {
        &mut self.listed
    }
}

impl ElementsByTime {
    /// Returns the last `count` instructions of all sources together, and of what is between them the elements that `shows` chooses.
    /// `image` is that of the trace. All is decoded; memory is that of the result.
    ///
    /// # Errors
    /// Fails if a buffer could not be read.
    pub fn last(
        mut self,
        count: u64,
        shows: fn(&Element) -> bool,
        image: &Image,
    ) -> Result<LastByTime, Error> {
        let mut last = LastElements::default();
        let shown = (&mut self).filter(|element| shows(&element.listed.element));
        shown.for_each(|element| last.push(element, count));
        let elements: Vec<TimedElement> = last.finish(image, count);
        let mut buffers = self.finish()?;
        for outcome in &mut buffers {
            let buffer = outcome.value.buffer;
            let of_buffer = elements.iter().filter(|of| of.buffer == buffer);
            let listed: Vec<_> = of_buffer.map(|of| (of.id, &of.listed)).collect();
            restrict(outcome, elements.is_empty(), &listed);
        }
        Ok(LastByTime { elements, dropped: last.dropped, buffers })
    }

    /// Stops decoding. Returns the outcome of each buffer. [`Outcome::problems`] stays empty: [`Trace::problems_of`] returns those of the
    /// capture.
    ///
    /// # Errors
    /// Fails if a buffer could not be read.
    pub fn finish(self) -> Result<Vec<Outcome<TimedBuffer>>, Error> {
        let mut buffers: Vec<Outcome<TimedBuffer>> = Vec::new();
        // All stop before the first is waited for.
        let lanes: Vec<_> =
            self.lanes.into_iter().map(|of| (of.buffer, of.source, of.elements.stop())).collect();
        for (buffer, source, stopped) in lanes {
            let (outcome, is_untimed) = stopped.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            let has_trace = outcome.sources.iter().any(|of| Some(of.source.index) == source && of.bytes > 0);
            let untimed = source.filter(|_| has_trace && is_untimed);
            match buffers.last_mut().filter(|last| last.value.buffer == buffer) {
                Some(last) => {
                    join(last, outcome);
                    last.value.untimed.extend(untimed);
                }
                None => {
                    buffers.push(
                        outcome.map(|()| TimedBuffer { buffer, untimed: untimed.into_iter().collect() }),
                    );
                }
            }
        }
        Ok(buffers)
    }
}

/// Adds the outcome of another source of the same buffer. What all sources tell of the buffer is kept once.
fn join(all: &mut Outcome<TimedBuffer>, mut other: Outcome<()>) {
    let is_nothing = |of: &crate::Diagnostic| matches!(of.problem, Problem::Nothing);
    // A source may well be idle; the buffer has nothing if no source has anything.
    if !all.diagnostics.iter().any(is_nothing) || !other.diagnostics.iter().any(is_nothing) {
        all.diagnostics.retain(|of| !is_nothing(of));
        other.diagnostics.retain(|of| !is_nothing(of));
    }
    let said: Vec<_> = all.diagnostics.iter().map(ToString::to_string).collect();
    other.diagnostics.retain(|of| !said.contains(&of.to_string()));
    other.unread.retain(|line| !all.unread.contains(line));
    let of_source = other.tally.bytes.saturating_sub(other.tally.bytes_around);
    all.tally.bytes_around = all.tally.bytes_around.saturating_sub(of_source);
    (other.tally.bytes, other.tally.bytes_around) = (0, 0);
    all.add(other);
}
