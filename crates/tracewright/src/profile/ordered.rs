//! Elements of each source in order: calls, and trips of loops.

use std::collections::HashMap;
use std::ops::Range;

use tracewright_core::{Block, Element};
use tracewright_engine::{self as engine, At, Consumer};
use tracewright_flow::cut;
use tracewright_image::Image;
use tracewright_profile::{
    CallSums, CallTree, Clock, EventRow, Events, Functions, Gate, Graph, Losses, Meter, Paths, Place,
    PlaceFilter, Program, Thread, Told, Tracker, Tree, TripCounts, Trips, Window,
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
}

/// A source that is being followed.
#[derive(Debug, Default)]
pub struct FollowState<'a>(Option<Box<FollowedSource<'a>>>);

/// A source while it is followed, and afterwards.
#[derive(Debug)]
pub struct FollowedSource<'a> {
    tracker: Tracker,
    functions: Functions,
    watch: (Tree, Trips<'a>),
    timed: Option<(Clock<'a>, Meter)>,
    gate: Gate,
    paths: Option<Paths>,
    events: Events,
    /// How its clock ended.
    end: Option<ClockEnd>,
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

    /// Adds up what was found in all sources.
    pub fn finish(&self, sources: Vec<FollowedSource<'a>>, image: &Image) -> Followed {
        let mut done = Followed::default();
        for source in sources {
            let FollowedSource { tracker, functions, watch: (tree, trips), timed, paths, events, .. } =
                source;
            done.calls.has_cycles |= timed.is_some();
            let threads: Vec<_> = tracker.threads().iter().map(name).collect();
            done.calls.merge(&tree, &functions, &threads);
            let losses = tracker.losses();
            done.losses.gaps += losses.gaps;
            done.losses.returns += losses.returns;
            done.losses.too_deep += losses.too_deep;
            if let Some(paths) = paths {
                done.paths.get_or_insert_with(|| Paths::new(paths.width())).merge(&paths);
            }
            for (of, row) in events.rows() {
                let place = of.block.map(|(block, space)| self.program.place(image, block.start, space));
                done.events.entry((of.event, place)).or_default().merge(row);
            }
            let trips = trips.finish();
            done.trips.resize_with(trips.len(), TripCounts::default);
            done.trips.iter_mut().zip(&trips).for_each(|(all, trips)| all.merge(trips));
        }
        done
    }

    /// Returns how the clocks of sources ended.
    pub fn ends(sources: &[FollowedSource<'a>]) -> impl Iterator<Item = ClockEnd> {
        sources.iter().filter_map(|source| source.end)
    }

    fn source(&self, index: usize) -> Box<FollowedSource<'a>> {
        let timed = self.clocks.clock(index).map(|clock| {
            let meter = Meter::new(clock.kind());
            (clock, meter)
        });
        Box::new(FollowedSource {
            tracker: Tracker::default(),
            functions: Functions::default(),
            watch: (Tree::default(), Trips::new(self.graph)),
            gate: Gate::new(self.only.window, self.clocks.kind(index)),
            timed,
            paths: self.paths.map(Paths::new),
            events: Events::default(),
            end: None,
        })
    }
}

impl<'a> Consumer for Follower<'a> {
    type State = FollowState<'a>;
    type Output = Vec<FollowedSource<'a>>;

    fn element(&self, state: &mut FollowState<'a>, _: &mut Self::Output, at: &At<'_>, element: &Element) {
        let FollowedSource { tracker, functions, watch, timed, gate, paths, events, .. } =
            &mut **state.0.get_or_insert_with(|| self.source(at.source.index));
        let (clock, meter) = timed.as_mut().map(|(clock, meter)| (clock, meter)).unzip();
        let told = clock.map(|clock| clock.take(element));
        let inside = gate.take(element, told.as_ref());
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
            let mut add = |node, cycles| tree.add(node, CallSums { instructions: 0, cycles });
            match told {
                Told::Block(stamps) => {
                    let inside =
                        if part.is_some() { inside.start as usize..inside.end as usize } else { 0..0 };
                    meter.block(NOBODY, &stamps[..inside.start], &mut add);
                    meter.block(node, &stamps[inside.clone()], &mut add);
                    meter.block(NOBODY, &stamps[inside.end..], &mut add);
                }
                told => meter.told(told, add),
            }
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
        let FollowedSource { timed, gate, watch: (tree, _), .. } =
            &mut **state.0.get_or_insert_with(|| self.source(source.index));
        let (clock, meter) = timed.as_mut().map(|(clock, meter)| (clock, meter)).unzip();
        let told = clock.map(|clock| clock.take(element));
        gate.pass(element, told.as_ref());
        let (Some(meter), Some(told)) = (meter, told) else { return };
        let add = |node, cycles| tree.add(node, CallSums { instructions: 0, cycles });
        match told {
            Told::Block(stamps) => meter.block(NOBODY, stamps, add),
            told => meter.told(told, add),
        }
    }

    /// Time is counted from the beginning.
    fn needs_all(&self) -> bool {
        self.clocks.any() || self.only.window.times.is_some()
    }

    fn in_order(&self) -> bool {
        true
    }

    fn end(&self, state: &mut FollowState<'a>, sources: &mut Self::Output, at: &At<'_>, _overflowed: bool) {
        let Some(mut source) = std::mem::take(state).0 else { return };
        source.end = source.timed.as_mut().map(|(clock, _)| ClockEnd { id: at.source.id, end: clock.end() });
        sources.push(*source);
    }

    fn merge(&self, into: &mut Self::Output, later: Self::Output) {
        into.extend(later);
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
