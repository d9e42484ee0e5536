//! Elements of each source in order: calls, and trips of loops.

use std::ops::Range;

use tracewright_core::{Block, Element};
use tracewright_engine::{self as engine, At, Consumer};
use tracewright_flow::cut;
use tracewright_flow::hash::HashMap;
use tracewright_profile::{
    CallSums, CallTree, EventRow, Events, Functions, Graph, Losses, Meter, Paths, Place, PlaceFilter,
    PlaceParts, Program, Timed, TimedGate, Told, Tracker, Tree, TripCounts, Trips, Window,
};

use crate::clocks::{ClockEnd, Clocks};
use crate::filter::overlap;
use crate::thread_names::ThreadNames;

/// Follows calls, loops and paths.
#[derive(Debug)]
pub struct Follower<'a> {
    clocks: &'a Clocks,
    program: &'a Program,
    graph: &'a Graph,
    threads: &'a ThreadNames,
    /// Number of branches of paths, if paths are wanted.
    paths: Option<usize>,
    only: Only<'a>,
}

/// Restricts what counts: calls inside the window, and instructions that run inside it and are in these places.
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
    /// Tree of the calls in some places, if it was made, too: the cycles of those places.
    pub there: Option<CallTree>,
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
    parts: PlaceParts,
    /// Instructions of the current block that are in the places.
    there: Vec<Range<u32>>,
    /// Parts of the current block: the numbers of instructions, and the node that they count for.
    pieces: Vec<(Range<u32>, u32)>,
}

impl<'a> Follower<'a> {
    /// Creates a follower. `paths` is the number of branches of paths, if paths are wanted.
    pub fn new(
        clocks: &'a Clocks,
        (program, graph): (&'a Program, &'a Graph),
        threads: &'a ThreadNames,
        paths: Option<usize>,
        only: Only<'a>,
    ) -> Self {
        Self { clocks, program, graph, threads, paths, only }
    }

    /// Divides a block among the function that runs now and those inlined there, and counts its instructions in `inside` that are
    /// in the places, too: those in `there`, or all. `pieces` gets the parts, if somebody wants to know them.
    #[inline]
    fn divide(
        &self,
        at: &At<'_>,
        block: &Block,
        (there, inside): (Option<&[Range<u32>]>, &Range<u32>),
        (functions, tree): (&mut Functions, &mut Tree),
        mut pieces: Option<&mut Vec<(Range<u32>, u32)>>,
    ) {
        let divided = functions.divide(self.program, at.image, at.space, block);
        let mut last = tree.current();
        if divided == 0 && there.is_none() && pieces.is_none() {
            tree.add(last, CallSums { instructions: inside.len() as u64, cycles: 0 });
            return tree.call_from(last);
        }
        let mut add = |tree: &mut Tree, range: Range<u32>, node| {
            let instructions = overlap(&range, inside).len() as u64;
            tree.add(node, CallSums { instructions, cycles: 0 });
            if let Some(pieces) = &mut pieces {
                pieces.push((range, node));
            }
        };
        let mut count = |tree: &mut Tree, range: Range<u32>, node| {
            let Some(there) = there else { return add(tree, range, node) };
            let mut from = range.start;
            for there in there.iter().map(|there| overlap(there, &range)).filter(|there| !there.is_empty()) {
                if from < there.start {
                    add(tree, from..there.start, NOBODY);
                }
                from = there.end;
                add(tree, there, node);
            }
            if from < range.end {
                add(tree, from..range.end, NOBODY);
            }
        };
        if divided == 0 {
            count(tree, 0..block.count, last);
            return tree.call_from(last);
        }
        for (range, chain) in functions.parts(divided, block.count) {
            last = tree.inlined(chain);
            count(tree, range, last);
        }
        tree.call_from(last);
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
            parts: PlaceParts::default(),
            there: Vec::new(),
            pieces: Vec::new(),
        })
    }
}

/// Attributes the cycles of a block's instructions in `inside` to the nodes of `pieces`, and those of its other instructions
/// to nobody.
fn measure(
    meter: &mut Meter,
    told: Told<'_>,
    inside: &Range<u32>,
    pieces: &[(Range<u32>, u32)],
    tree: &mut Tree,
) {
    let mut add = |node, cycles| tree.add(node, CallSums { instructions: 0, cycles });
    let Told::Block(stamps) = told else { return meter.told(told, add) };
    let mut of = |node, range: Range<u32>| {
        meter.block(node, &stamps[range.start as usize..range.end as usize], &mut add);
    };
    of(NOBODY, 0..inside.start);
    for (range, node) in pieces {
        of(*node, overlap(range, inside));
    }
    let told = pieces.last().map_or(inside.start, |(range, _)| range.end.clamp(inside.start, inside.end));
    of(NOBODY, told..stamps.len() as u32);
}

impl<'a> Consumer for Follower<'a> {
    type State = FollowState<'a>;
    type Output = Followed;

    fn element(&self, state: &mut FollowState<'a>, _: &mut Followed, at: &At<'_>, element: &Element) {
        let of = &mut **state.0.get_or_insert_with(|| self.source(at.source.index));
        let Following { tracker, functions, watch, gate, meter, paths, events, parts, there, pieces } = of;
        let Timed { told, inside, gate } = gate.take(element);
        // Most often no places are asked for.
        let there = self.only.places.map(|places| {
            there.clear();
            if let Element::Block(block) = element {
                there.extend(parts.of(places, self.program, (at.image, at.space), block));
            }
            &**there
        });
        let counts = match there {
            None => !inside.is_empty(),
            Some(there) => there.iter().any(|there| !overlap(there, &inside).is_empty()),
        };
        watch.0.count_calls(if counts { inside.start == 0 } else { gate.is_open() });
        let find = |address, space| functions.find(self.program, at.image, address, space);
        tracker.take(element, at.space, find, watch);
        let (tree, trips) = watch;
        if let Element::Block(block) = element {
            pieces.clear();
            let wanted = meter.is_some().then_some(&mut *pieces);
            self.divide(at, block, (there, &inside), (functions, tree), wanted);
        }
        let mut is_end = true;
        if let Element::Block(block) = element {
            is_end = false;
            let mut ran = |range: Range<u32>| {
                is_end = range.end == block.count;
                if let Some(part) = cut(at.image, at.space, block, &range) {
                    trips.block(&part, at.space, |address, space| {
                        self.program.place(at.image, address, space)
                    });
                }
            };
            match there {
                None => ran(inside.clone()),
                Some(there) => there.iter().for_each(|there| ran(overlap(there, &inside))),
            }
        }
        if !matches!(element, Element::Event(_)) || gate.is_open() {
            events.take(element, at.space, told.as_ref());
        }
        if let (Some(meter), Some(told)) = (meter, told) {
            measure(meter, told, &inside, pieces, tree);
        }
        if let Some(paths) = paths
            && is_end
        {
            paths.take(element, at.space, |address, space| self.program.place(at.image, address, space));
        }
    }

    /// Time passes outside the requested range, too. A context there is that of a thread that is not asked for.
    fn passed(&self, state: &mut FollowState<'a>, source: &engine::Source<'_>, element: &Element) {
        if let (Some(of), Element::Context(..)) = (&mut state.0, element) {
            of.tracker.pause();
        }
        if !self.needs_all() {
            return;
        }
        let Following { gate, meter, watch: (tree, _), .. } =
            &mut **state.0.get_or_insert_with(|| self.source(source.index));
        let Timed { told, inside, .. } = gate.pass(element);
        if let (Some(meter), Some(told)) = (meter, told) {
            measure(meter, told, &inside, &[], tree);
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
        let Following { tracker, functions, watch: (tree, trips), mut gate, meter, paths, events, .. } =
            *source;
        let threads = tracker.threads().iter();
        let threads = threads.map(|thread| self.threads.name(at.source.index, thread)).collect();
        let mut found = Followed {
            calls: CallTree { tree, functions, threads, has_cycles: meter.is_some() },
            losses: tracker.losses(),
            trips: trips.finish(),
            paths,
            events: HashMap::default(),
            ends: gate.end().map(|end| ClockEnd { id: at.source.id, end }).into_iter().collect(),
            there: None,
        };
        for (of, row) in events.rows() {
            let place = of.block.map(|(block, space)| self.program.place(at.image, block.start, space));
            found.events.entry((of.event, place)).or_default().merge(row);
        }
        self.merge(done, found);
    }

    fn merge(&self, into: &mut Followed, later: Followed) {
        let Followed { calls, losses, trips, paths, events, ends, there: _ } = later;
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
