//! Elements of all sources in order: who called whom, how often loops turned.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tracewright_core::Element;
use tracewright_profile::{
    CallTree, Clock, EventRow, Events, Functions, Graph, Losses, Meter, Paths, Place, Program, Sums, Thread,
    Told, Tracker, Tree, TripCounts, Trips,
};

use crate::clocks::{self, Clocks};
use crate::decode::part::{At, Print};
use crate::line::Line;

/// Takes elements apart.
pub struct Ordered<'a> {
    clocks: &'a Clocks,
    program: &'a Program,
    graph: &'a Graph,
    /// How many branches paths have, if they are wanted.
    paths: Option<usize>,
    done: Mutex<Done>,
}

/// What all sources came to.
#[derive(Default)]
pub struct Done {
    pub calls: CallTree,
    pub losses: Losses,
    /// By number of the loop.
    pub trips: Vec<TripCounts>,
    pub paths: Option<Paths>,
    /// By number of the event, and where the block begins that it was put down to.
    pub events: HashMap<(u8, Option<Place>), EventRow>,
}

/// A source at work.
#[derive(Default)]
pub struct State<'a>(Option<Box<Source<'a>>>);

struct Source<'a> {
    tracker: Tracker,
    functions: Functions,
    watch: (Tree, Trips<'a>),
    timed: Option<(Clock<'a>, Meter)>,
    paths: Option<Paths>,
    events: Events,
}

impl<'a> Ordered<'a> {
    pub fn new(clocks: &'a Clocks, program: &'a Program, graph: &'a Graph, paths: Option<usize>) -> Self {
        Self { clocks, program, graph, paths, done: Mutex::default() }
    }

    /// What all sources came to.
    pub fn finish(self) -> Done {
        self.done.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn source(&self, index: usize) -> Box<Source<'a>> {
        let timed = self.clocks.clock(index).map(|clock| {
            let meter = Meter::new(clock.kind());
            (clock, meter)
        });
        Box::new(Source {
            tracker: Tracker::default(),
            functions: Functions::default(),
            watch: (Tree::default(), Trips::new(self.graph)),
            timed,
            paths: self.paths.map(Paths::new),
            events: Events::default(),
        })
    }
}

impl<'a> Print for Ordered<'a> {
    const AGAIN: bool = true;
    type State = State<'a>;

    fn element(&self, state: &mut State<'a>, _line: &mut Line, at: &At<'_>, element: &Element) {
        let Source { tracker, functions, watch, timed, paths, events } =
            &mut **state.0.get_or_insert_with(|| self.source(at.source.index));
        tracker.take(element, at.space, |address, space| functions.find(at.image, address, space), watch);
        let (tree, trips) = watch;
        let node = tree.current();
        if let Element::Block(block) = element {
            tree.add(node, Sums { instructions: block.count.into(), cycles: 0 });
            trips.block(block, at.space, |address, space| self.program.place(at.image, address, space));
        }
        if let Some((clock, meter)) = timed {
            let add = |node, cycles| tree.add(node, Sums { instructions: 0, cycles });
            let told = clock.take(element);
            events.take(element, at.space, Some(&told));
            match told {
                Told::Block(stamps) => meter.block(node, stamps, add),
                told => meter.told(told, add),
            }
        } else {
            events.take(element, at.space, None);
        }
        if let Some(paths) = paths {
            paths.take(element, at.space, |address, space| self.program.place(at.image, address, space));
        }
    }

    fn end(&self, state: &mut State<'a>, _line: &mut Line, at: &At<'_>, _overflowed: bool) {
        let Some(source) = std::mem::take(state).0 else { return };
        let Source { tracker, functions, watch: (tree, trips), timed, paths, events } = *source;
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((mut clock, _)) = timed {
            clocks::report_end(at.source.id, clock.end());
            done.calls.has_cycles = true;
        }
        let threads: Vec<_> = tracker.threads().iter().map(name).collect();
        done.calls.merge(&tree, &functions, &threads);
        let losses = tracker.losses();
        done.losses.gaps += losses.gaps;
        done.losses.returns += losses.returns;
        if let Some(paths) = paths {
            done.paths.get_or_insert_with(|| Paths::new(paths.width())).merge(&paths);
        }
        for (of, row) in events.rows() {
            let place = of.block.map(|(block, space)| self.program.place(at.image, block.start, space));
            done.events.entry((of.event, place)).or_default().merge(row);
        }
        let trips = trips.finish();
        done.trips.resize_with(trips.len(), TripCounts::default);
        done.trips.iter_mut().zip(&trips).for_each(|(all, trips)| all.merge(trips));
    }
}

/// What a thread is called.
fn name(thread: &Thread) -> String {
    match thread {
        Thread { context_id: None, vmid: None } => "thread".into(),
        Thread { context_id: Some(id), vmid: None | Some(0) } => format!("thread {id}"),
        Thread { context_id, vmid: Some(vmid) } => {
            format!("machine {vmid} thread {}", context_id.unwrap_or(0))
        }
    }
}
