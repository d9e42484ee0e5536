//! Which part of what ran is wanted: a window of time, places, processes and threads.

mod check;
mod filtered;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tracewright_core::{Context, Element};
use tracewright_engine::At;
use tracewright_image::{Image, Moment};
use tracewright_input::Capture;
use tracewright_profile::{
    Binary, PlaceError, PlaceFilter, PlaceNames, PlaceParts, Profile, Program, TimedGate, Window,
};

pub(crate) use self::check::{check_process, check_threads, check_window, listed};
pub(crate) use self::filtered::Filtered;
use crate::clocks::Clocks;

/// Which part of what ran is wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub window: Window,
    /// Clocks of the sources, where cycles are asked for.
    pub clocks: Arc<Clocks>,
    places: Option<Arc<Places>>,
    pub pids: Vec<u32>,
    pub tids: Vec<u32>,
    /// For each process of the capture its process ID and those of its threads, where processes are asked for.
    processes: Arc<[(u32, Vec<u32>)]>,
    /// Threads that were seen, up to [`MOST_SEEN`].
    seen: Arc<Mutex<BTreeSet<u32>>>,
}

/// Most threads that are remembered.
const MOST_SEEN: usize = 16;

#[derive(Debug)]
struct Places {
    filter: PlaceFilter,
    program: Program,
}

/// A source that is being filtered.
#[derive(Debug)]
pub(crate) struct FilterState<'f> {
    gate: TimedGate<'f>,
    context: Option<Context>,
    /// Whether the current thread is wanted, if that is known, and the moment that it was decided for.
    is_wanted: Option<(Moment, bool)>,
    /// Whether any of the last block is in the places.
    is_there: bool,
    parts: PlaceParts,
    /// Instructions of the last block that are wanted.
    inside: Vec<Range<u32>>,
}

impl Filter {
    /// Returns whether everything is wanted.
    pub fn is_all(&self) -> bool {
        self.window.is_all() && self.places.is_none() && self.pids.is_empty() && self.tids.is_empty()
    }

    /// Restricts the filter to places of the programs of `image`. Functions without symbols are those that are called in `profile`.
    pub fn set_places(
        &mut self,
        names: &PlaceNames,
        image: &Image,
        mut profile: Profile,
    ) -> Result<(), PlaceError> {
        for file in image.files() {
            profile.binary(Binary::of(&file));
        }
        let program = Program::new(&profile, image).show_inlined(!names.no_inline);
        if let Some(filter) = names.find(&profile, &[&program])? {
            self.places = Some(Arc::new(Places { filter, program }));
        }
        Ok(())
    }

    /// Adds a process.
    pub fn add_process(&mut self, pid: u32, capture: &Capture) {
        self.pids.push(pid);
        let threads = capture
            .processes
            .iter()
            .map(|process| (process.pid, process.threads.iter().map(|thread| thread.tid).collect()));
        self.processes = threads.collect();
    }

    /// Returns the threads that were seen while decoding, where threads or processes are asked for; not all if there are many.
    pub fn seen(&self) -> Vec<u32> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    pub fn state(&self, source: usize) -> FilterState<'_> {
        let clock = self.window.cycles.as_ref().and_then(|_| self.clocks.clock(source));
        FilterState {
            gate: TimedGate::new(&self.window, clock),
            context: None,
            is_wanted: None,
            is_there: false,
            parts: PlaceParts::default(),
            inside: Vec::new(),
        }
    }

    /// Takes an element. Returns whether it is wanted, a block also in part: see [`FilterState::inside`].
    pub fn take(&self, state: &mut FilterState<'_>, at: &At<'_>, element: &Element) -> bool {
        state.note(element);
        let timed = state.gate.take(element);
        let Element::Block(block) = element else {
            let is_open = timed.gate.is_open();
            return self.is_there(state, at, element) && self.is_wanted(state, at) && is_open;
        };
        let inside = timed.inside;
        state.inside.clear();
        match &self.places {
            None => state.inside.push(inside),
            Some(places) => {
                let Places { filter, program } = &**places;
                let parts = state.parts.of(filter, program, (at.image, at.space), block);
                let mut is_there = false;
                let parts = parts.inspect(|_| is_there = true);
                state.inside.extend(parts.map(|part| overlap(&part, &inside)));
                state.is_there = is_there;
            }
        }
        state.inside.retain(|part| !part.is_empty());
        if !state.inside.is_empty() && !self.is_wanted(state, at) {
            state.inside.clear();
        }
        !state.inside.is_empty()
    }

    /// Takes an element outside the requested part of the file.
    pub fn pass(state: &mut FilterState<'_>, element: &Element) {
        state.note(element);
        state.gate.pass(element);
    }

    /// Returns whether an element that is no block is in the places. One without an address is where the last block was.
    fn is_there(&self, state: &FilterState<'_>, at: &At<'_>, element: &Element) -> bool {
        let Some(places) = &self.places else { return true };
        let has = |address: u64| {
            places.filter.has_in(&places.program, places.program.place(at.image, address, at.space))
        };
        let address = match *element {
            Element::Exception(ref exception) => exception.return_address,
            Element::UnknownPath { start, .. } => start,
            Element::NoCode { address, .. } | Element::Target { address, .. } => Some(address),
            Element::Data { by, .. } => by,
            _ => None,
        };
        address.map_or(state.is_there, has)
    }

    /// Returns whether the thread that runs is wanted.
    fn is_wanted(&self, state: &mut FilterState<'_>, at: &At<'_>) -> bool {
        if self.tids.is_empty() && self.pids.is_empty() {
            return true;
        }
        if let Some((moment, is_wanted)) = state.is_wanted
            && moment == at.moment
        {
            return is_wanted;
        }
        let thread = at.image.thread(state.context.as_ref(), &at.moment).or(at.source.of.thread);
        let is_wanted = thread.is_some_and(|thread| {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.len() < MOST_SEEN {
                seen.insert(thread);
            }
            let is_of = |pid: u32| self.pids.contains(&pid);
            (self.tids.is_empty() || self.tids.contains(&thread))
                && (self.pids.is_empty() || self.process(thread, at).is_some_and(is_of))
        });
        state.is_wanted = Some((at.moment, is_wanted));
        is_wanted
    }

    /// Returns the ID of a thread's process.
    fn process(&self, thread: u32, at: &At<'_>) -> Option<u32> {
        let has = |(pid, threads): &&(u32, Vec<u32>)| *pid == thread || threads.contains(&thread);
        match at.image.process(thread, at.moment.time) {
            Some(index) => self.processes.get(index as usize).map(|(pid, _)| *pid),
            None => self.processes.iter().find(has).map(|(pid, _)| *pid),
        }
    }
}

/// Returns the programs of an image, and a profile that has them all and counts nothing.
pub(crate) fn program_of(image: &Image) -> (Profile, Program) {
    let mut profile = Profile::default();
    for file in image.files() {
        profile.binary(Binary::of(&file));
    }
    let program = Program::new(&profile, image);
    (profile, program)
}

/// Returns the numbers that both ranges have; an empty range inside `other` if there are none.
pub(crate) fn overlap(range: &Range<u32>, other: &Range<u32>) -> Range<u32> {
    let start = range.start.clamp(other.start, other.end);
    start..range.end.clamp(start, other.end)
}

impl FilterState<'_> {
    /// Returns the numbers of the instructions of the last block that are wanted, in order.
    pub fn inside(&self) -> &[Range<u32>] {
        &self.inside
    }

    fn note(&mut self, element: &Element) {
        if let Element::Context(context, _) = element {
            self.context = Some(*context);
            self.is_wanted = None;
        }
    }
}
