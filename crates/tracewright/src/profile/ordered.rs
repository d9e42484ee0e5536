//! Elements of each source in order: calls, and trips of loops.

use std::collections::HashMap;
use std::ops::Range;

use tracewright_core::{Block, Element};
use tracewright_engine::{self as engine, At, Consumer};
use tracewright_flow::cut;
use tracewright_profile::{
    CallSums, CallTree, EventRow, Events, Functions, Graph, Losses, Meter, Paths, Place, PlaceFilter,
    Program, Thread, Timed, TimedGate, Told, Tracker, Tree, TripCounts, Trips, Window,
};

use crate::clocks::{ClockEnd, Clocks};

/// Follows calls, loops and paths.
#[derive(Debug)]
pub struct Follower<'a> {
    clocks: &'a Clocks,
    program: &'a Program,
    graph: &'a Graph,
    /// Number of branches of paths, if paths are wanted.
    paths: Option<usize>,
    only: Only<'a>,
}

/// Restricts what counts: calls inside the window, and blocks that run inside it and are in these places.
#[derive(Clone, Copy, Debug)]
pub struct Only<'a> {
    /// The window of time.
    pub window: &'a Window,
    /// The places; `None` for all.
    pub places: Option<&'a PlaceFilter>,
}

/// Function number for the cycles of code that does not count.
const NOBODY: u32 = u32::MAX;

/// Result of following all sources.
#[derive(Debug, Default)]
pub struct Followed {
    /// Tree of calls.
    pub calls: CallTree,
    /// What could not be followed.
    pub losses: Losses,
    /// Trips, by number of the loop.
    pub trips: Vec<TripCounts>,
    /// Paths, if they are wanted.
    pub paths: Option<Paths>,
    /// Events, by number and by start of the block that each was attributed to.
    pub events: HashMap<(u8, Option<Place>), EventRow>,
    /// How the sources' clocks ended.
    pub ends: Vec<ClockEnd>,
}

/// A source that is being followed.
#[derive(Debug, Default)]
pub struct FollowState<'a>(Option<Box<Following<'a>>>);

#[derive(Debug)]
struct Following<'a> {
    tracker: Tracker,
    functions: Functions,
    watch: (Tree, Trips<'a>),
    gate: TimedGate<'a>,
    /// Adds up cycles, if the source has a clock.
    meter: Option<Meter>,
    paths: Option<Paths>,
    events: Events,
}

impl<'a> Follower<'a> {
    /// Creates a follower. `paths` is the number of branches of paths, if paths are wanted.
    pub fn new(
        clocks: &'a Clocks,
        program: &'a Program,
        graph: &'a Graph,
        paths: Option<usize>,
        only: Only<'a>,
    ) -> Self {
        Self { clocks, program, graph, paths, only }
    }

    /// Returns the part of a block that counts.
    #[inline]
    fn part(&self, at: &At<'_>, block: &Block, inside: &Range<u32>) -> Option<Block> {
        let place = || self.program.place(at.image, block.start, at.space);
        let is_there = self.only.places.is_none_or(|places| places.has(place()));
        if is_there { cut(at.image, at.space, block, inside) } else { None }
    }

    fn source(&self, index: usize) -> Box<Following<'a>> {
        let gate = TimedGate::new(self.only.window, self.clocks.clock(index));
        Box::new(Following {
            tracker: Tracker::default(),
            functions: Functions::default(),
            watch: (Tree::default(), Trips::new(self.graph)),
            meter: gate.kind().map(Meter::new),
            gate,
            paths: self.paths.map(Paths::new),
            events: Events::default(),
        })
    }
}

/// Attributes the cycles of a block's instructions in `inside` to `node`, and those of its other instructions to nobody.
fn measure(meter: &mut Meter, told: Told<'_>, inside: Range<u32>, node: u32, tree: &mut Tree) {
    let mut add = |node, cycles| tree.add(node, CallSums { instructions: 0, cycles });
    let Told::Block(stamps) = told else { return meter.told(told, add) };
    let inside = inside.start as usize..inside.end as usize;
    meter.block(NOBODY, &stamps[..inside.start], &mut add);
    meter.block(node, &stamps[inside.clone()], &mut add);
    meter.block(NOBODY, &stamps[inside.end..], &mut add);
}

impl<'a> Consumer for Follower<'a> {
    type State = FollowState<'a>;
    type Output = Followed;

    fn element(&self, state: &mut FollowState<'a>, _: &mut Followed, at: &At<'_>, element: &Element) {
        let Following { tracker, functions, watch, gate, meter, paths, events } =
            &mut **state.0.get_or_insert_with(|| self.source(at.source.index));
        let Timed { told, inside, gate } = gate.take(element);
        let part = match element {
            Element::Block(block) => self.part(at, block, &inside),
            _ => None,
        };
        watch.0.count_calls(if part.is_some() { inside.start == 0 } else { gate.is_open() });
        tracker.take(element, at.space, |address, space| functions.find(at.image, address, space), watch);
        let (tree, trips) = watch;
        let node = tree.current();
        if let Some(block) = &part {
            tree.add(node, CallSums { instructions: block.count.into(), cycles: 0 });
            trips.block(block, at.space, |address, space| self.program.place(at.image, address, space));
        }
        if gate.is_open() || !matches!(element, Element::Event(_)) {
            events.take(element, at.space, told.as_ref());
        }
        if let (Some(meter), Some(told)) = (meter, told) {
            let inside = if part.is_some() { inside.clone() } else { 0..0 };
            measure(meter, told, inside, node, tree);
        }
        let is_left_out =
            matches!(element, Element::Block(block) if part.is_none() || inside.end < block.count);
        if let Some(paths) = paths.as_mut().filter(|_| !is_left_out) {
            paths.take(element, at.space, |address, space| self.program.place(at.image, address, space));
        }
    }

    /// Time passes outside the requested range, too.
    fn passed(&self, state: &mut FollowState<'a>, source: &engine::Source<'_>, element: &Element) {
        if !self.needs_all() {
            return;
        }
        let Following { gate, meter, watch: (tree, _), .. } =
            &mut **state.0.get_or_insert_with(|| self.source(source.index));
        let Timed { told, inside, .. } = gate.pass(element);
        if let (Some(meter), Some(told)) = (meter, told) {
            measure(meter, told, inside, NOBODY, tree);
        }
    }

    /// Time is counted from the beginning.
    fn needs_all(&self) -> bool {
        self.clocks.any() || self.only.window.times.is_some()
    }

    fn in_order(&self) -> bool {
        true
    }

    fn end(&self, state: &mut FollowState<'a>, done: &mut Followed, at: &At<'_>, _overflowed: bool) {
        let Some(source) = state.0.take() else { return };
        let Following { tracker, functions, watch: (tree, trips), mut gate, meter, paths, events } = *source;
        let threads = tracker.threads().iter().map(name).collect();
        let mut found = Followed {
            calls: CallTree { tree, functions, threads, has_cycles: meter.is_some() },
            losses: tracker.losses(),
            trips: trips.finish(),
            paths,
            events: HashMap::new(),
            ends: gate.end().map(|end| ClockEnd { id: at.source.id, end }).into_iter().collect(),
        };
        for (of, row) in events.rows() {
            let place = of.block.map(|(block, space)| self.program.place(at.image, block.start, space));
            found.events.entry((of.event, place)).or_default().merge(row);
        }
        self.merge(done, found);
    }

    fn merge(&self, into: &mut Followed, later: Followed) {
        let Followed { calls, losses, trips, paths, events, ends } = later;
        into.calls.has_cycles |= calls.has_cycles;
        into.calls.merge(&calls.tree, &calls.functions, &calls.threads);
        into.losses.gaps += losses.gaps;
        into.losses.returns += losses.returns;
        into.losses.too_deep += losses.too_deep;
        into.trips.resize_with(trips.len().max(into.trips.len()), TripCounts::default);
        into.trips.iter_mut().zip(&trips).for_each(|(all, trips)| all.merge(trips));
        match (&mut into.paths, paths) {
            (Some(into), Some(paths)) => into.merge(&paths),
            (into, paths) => *into = into.take().or(paths),
        }
        for (of, row) in events {
            into.events.entry(of).or_default().merge(&row);
        }
        into.ends.extend(ends);
    }
}

/// Returns the name of a thread.
fn name(thread: &Thread) -> String {
    match thread {
        Thread { context_id: None, vmid: None } => "thread".into(),
        Thread { context_id: Some(id), vmid: None | Some(0) } => format!("thread {id}"),
        Thread { context_id, vmid: Some(vmid) } => {
            format!("machine {vmid} thread {}", context_id.unwrap_or(0))
        }
    }
}
