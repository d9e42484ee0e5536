//! The end of a trace, or a part around an offset, without decoding all of it where the protocol allows.

mod near;

use std::collections::BTreeMap;

use tracewright_core::{Element, GapReason, MemorySpace, Stamp};
use tracewright_engine::{Engine, MissingCode, Problem, Range, SourceTally, Tally};
use tracewright_input::{Buffer, Protocol};

pub(crate) use self::near::{LastElements, Near};
use crate::clocks::{ClockEnd, Clocks};
use crate::error::Error;
use crate::outcome::Outcome;
use crate::trace::Trace;

/// Which elements an excerpt has, and what is told of them.
#[derive(Clone, Copy, Debug)]
pub struct ExcerptOptions<'a> {
    /// Offset in the trace file that the excerpt is around; `None` for the end of the trace.
    pub around: Option<u64>,
    /// Instructions before the point, and as many after it. A place where code or trace is missing counts as an instruction.
    pub count: u64,
    /// Which elements are kept.
    pub shows: fn(&Element) -> bool,
    /// Clocks, if the cycle of each instruction is wanted. All of the trace is decoded then.
    pub clocks: Option<&'a Clocks>,
    /// Whether the last timestamp before each element is wanted.
    pub times: bool,
}

impl ExcerptOptions<'_> {
    /// Creates options for blocks and what is between them, without cycles and times.
    pub fn new(around: Option<u64>, count: u64) -> Self {
        Self { around, count, shows: |_| true, clocks: None, times: false }
    }
}

/// An element of an excerpt.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Offset in the trace file of the packet that reported it.
    pub offset: u64,
    /// Memory space of the code.
    pub space: MemorySpace,
    /// The element. The first block of an excerpt may be the last part of what ran.
    pub element: Element,
    /// The last timestamp before it, if times are wanted.
    pub time: Option<u64>,
    /// When the instructions of a block retired, if there is a clock.
    pub stamps: Option<Box<[Stamp]>>,
}

/// Elements of a source before and after a point.
#[derive(Clone, Debug, Default)]
pub struct Excerpt {
    /// Index of the source in the capture.
    pub source: usize,
    /// Number of the source in its buffer.
    pub id: u16,
    /// Elements before the point.
    pub before: Vec<Listed>,
    /// Elements after it.
    pub after: Vec<Listed>,
    /// Elements that were left out since there were too many between the instructions.
    pub dropped: u64,
    /// How the source's clock ended.
    pub end: Option<ClockEnd>,
    /// Whether there are as many instructions as were asked for, and what came before them was decoded, too.
    is_enough: bool,
}

impl Excerpt {
    /// Iterates over all elements.
    pub fn elements(&self) -> impl Iterator<Item = &Listed> + Clone {
        self.before.iter().chain(&self.after)
    }
}

/// Bytes of the file that are decoded first on each side of the point, and by how much more each time.
const FIRST: u64 = 1 << 20;
const MORE: u64 = 8;

impl Trace {
    /// Returns the last `count` instructions of each source, with what is between them. Only the end of the trace is decoded, where the
    /// protocol allows; memory is that of the result.
    ///
    /// # Errors
    /// Fails if the trace cannot be read.
    pub fn last(&self, count: u64) -> Result<Outcome<Vec<Excerpt>>, Error> {
        self.excerpts(&ExcerptOptions::new(None, count))
    }

    /// Returns `count` instructions of each source before what the packet at `offset` reports, and as many from there on.
    ///
    /// # Errors
    /// Fails if the trace cannot be read.
    pub fn around(&self, offset: u64, count: u64) -> Result<Outcome<Vec<Excerpt>>, Error> {
        self.excerpts(&ExcerptOptions::new(Some(offset), count))
    }

    /// Returns the chosen buffer whose trace ends last, and the offset at which it ends; `None` if that of any buffer is not known (a pipe,
    /// a compressed file).
    ///
    /// # Errors
    /// Fails if there is no such source or buffer.
    pub fn end(&self) -> Result<Option<(&Buffer, u64)>, Error> {
        let mut last = None;
        for buffer in self.buffers()? {
            let is_packed = buffer.pieces.iter().flatten().any(|piece| piece.packed.is_some());
            let Some(end) = buffer.bytes().filter(|_| !is_packed).and_then(|_| end_of(buffer)) else {
                return Ok(None);
            };
            last = last.into_iter().chain([(buffer, end)]).max_by_key(|(_, end)| *end);
        }
        Ok(last)
    }

    fn excerpts(&self, options: &ExcerptOptions<'_>) -> Result<Outcome<Vec<Excerpt>>, Error> {
        let engine = self.engine()?;
        let mut all: Outcome<Vec<Excerpt>> = Outcome::default();
        for buffer in self.buffers()? {
            let found = self.excerpts_of(&engine, buffer, options)?;
            let found = all.add(found);
            all.value.extend(found);
        }
        all.problems.extend(self.problems_of(&all.tally).cloned());
        Ok(all)
    }

    /// Returns the excerpts of a buffer's sources that have any element. The tally is that of the excerpts.
    ///
    /// # Errors
    /// Fails if the buffer cannot be read.
    pub fn excerpts_of(
        &self,
        engine: &Engine,
        buffer: &Buffer,
        options: &ExcerptOptions<'_>,
    ) -> Result<Outcome<Vec<Excerpt>>, Error> {
        let near = Near { options };
        let asked = self.file_range();
        // Some read everything anyway.
        let needs_start = options.clocks.is_some()
            || self.needs_all()
            || buffer.format.needs_start()
            || buffer
                .sources
                .iter()
                .any(|&source| !matches!(self.capture().sources[source].protocol, Protocol::Etm(_)));
        let end = end_of(buffer).filter(|_| !needs_start);
        let (mut distance, mut is_synchronised) = (FIRST, false);
        let mut found: BTreeMap<u16, Excerpt> = BTreeMap::new();
        let mut sources: BTreeMap<(usize, u16), SourceTally> = BTreeMap::new();
        let mut trace = self.clone();
        loop {
            let range = part(asked, options.around, end, distance);
            let is_whole = range == asked;
            let mut outcome = trace.clone().range(range.from..range.to).decode_buffer(
                engine,
                buffer,
                &near,
                true,
                |_, _| std::ops::ControlFlow::Continue(()),
            )?;
            is_synchronised |= outcome.is_synchronised;
            outcome.is_synchronised = is_synchronised;
            let (enough, less): (Vec<_>, Vec<_>) =
                std::mem::take(&mut outcome.value).into_iter().partition(|of| is_whole || of.is_enough);
            found.extend(enough.into_iter().map(|of| (of.id, of)));
            for of in std::mem::take(&mut outcome.sources) {
                // Of a source that was decoded before there may be nothing here.
                let known = sources.entry((of.source.index, of.source.id)).or_insert_with(|| of.clone());
                if known.bytes < of.bytes {
                    *known = of;
                }
            }
            if less.is_empty() {
                let has_any = |of: &Excerpt| of.elements().any(|of| !matches!(of.element, Element::End));
                let value: Vec<_> = found.into_values().filter(has_any).collect();
                outcome.sources = sources.into_values().collect();
                let listed: Vec<_> =
                    value.iter().flat_map(|of| of.elements().map(move |listed| (of.id, listed))).collect();
                restrict(&mut outcome, is_whole && value.is_empty(), &listed);
                return Ok(outcome.map(|_| value));
            }
            // Only sources of which there is not enough are decoded again.
            trace = less.iter().enumerate().fold(trace, |trace, (number, of)| match number {
                0 => trace.only_source(of.id),
                _ => trace.source(of.id),
            });
            distance = distance.saturating_mul(MORE);
        }
    }
}

/// Returns the part of the file to decode: up to `distance` bytes on each side of the point.
fn part(asked: Range, around: Option<u64>, end: Option<u64>, distance: u64) -> Range {
    let Some(end) = end else { return asked };
    let from = around.unwrap_or(end).min(end).saturating_sub(distance);
    let to = around.map_or(u64::MAX, |offset| offset.saturating_add(distance));
    let to = if to >= end { u64::MAX } else { to };
    Range { from: asked.from.max(from), to: asked.to.min(to) }
}

/// Returns the offset at which a buffer's trace ends, if the file can be read from anywhere, and its end is newer than all before it.
fn end_of(buffer: &Buffer) -> Option<u64> {
    match &buffer.pieces {
        _ if buffer.ring.is_some() => None,
        Some(pieces) => pieces.iter().map(|piece| piece.offset.saturating_add(piece.len)).max(),
        None => buffer.path.metadata().ok().filter(std::fs::Metadata::is_file).map(|file| file.len()),
    }
}

/// Leaves of an outcome what concerns the elements that are `listed`, each with the number of its source.
pub(crate) fn restrict<T>(outcome: &mut Outcome<T>, is_all: bool, listed: &[(u16, &Listed)]) {
    if !is_all {
        // Before the part that was decoded a source may well be synchronised, and others were decoded before.
        let is_of_part =
            |problem: &Problem| !matches!(problem, Problem::Unsynchronised { .. } | Problem::Nothing);
        outcome.diagnostics.retain(|diagnostic| is_of_part(&diagnostic.problem));
    }
    outcome.tally = tally(listed.iter().map(|(_, listed)| *listed));
    for of in &mut outcome.sources {
        let listed = listed.iter().filter(|(id, _)| *id == of.source.id).map(|(_, listed)| *listed);
        of.missing = MissingCode::default();
        for listed in listed.clone() {
            if let Element::NoCode { address, space } = listed.element {
                of.missing.add(address, space);
            }
        }
        of.tally = tally(listed);
    }
}

/// Returns what elements have.
fn tally<'a>(listed: impl Iterator<Item = &'a Listed>) -> Tally {
    let mut tally = Tally::default();
    for Listed { offset, space, element, .. } in listed {
        match *element {
            Element::Block(ref block) => {
                tally.blocks += 1;
                tally.instructions += u64::from(block.count);
            }
            Element::NoCode { address, space } => {
                tally.no_code += 1;
                tally.first_no_code.get_or_insert((*offset, address, space));
            }
            Element::Mismatch(mismatch) => {
                tally.mismatches += 1;
                tally.first_mismatch.get_or_insert((*offset, mismatch, *space));
            }
            Element::UnknownPath { start, next, .. } => {
                tally.unknown_paths += 1;
                tally.endless_loops += u64::from(start == Some(next));
                tally.first_unknown_path.get_or_insert((*offset, start, next, *space));
            }
            Element::Gap { reason: GapReason::Start, .. } => {}
            Element::Gap { reason, from, to } => {
                tally.gaps += 1;
                tally.first_gap.get_or_insert((from, to, reason));
            }
            Element::DataLost => tally.data_lost += 1,
            _ => {}
        }
    }
    tally
}
