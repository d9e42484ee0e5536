//! What the default output shows: functions, loops and branches, sorted.

use std::cmp::Reverse;
use std::collections::HashMap;

use tracewright_profile::{
    Branch, CallTree, Calls, EventRow, Graph, Loop, Losses, Paths, Place, Profile, Program, TripCounts,
    branches,
};

use super::ordered::Done;
use crate::decode::names;

/// All that is shown.
pub struct Report<'a> {
    pub program: &'a Program,
    pub graph: &'a Graph,
    pub calls: CallTree,
    pub losses: Losses,
    pub instructions: u64,
    pub cycles: u64,
    /// By number among the tree's functions: those with most of their own first.
    pub functions: Vec<(u32, Calls)>,
    /// Those in which most ran first.
    pub loops: Vec<(Loop, TripCounts)>,
    /// Conditional ones, those that go both ways most often first.
    pub branches: Vec<Branch>,
    /// Calls of what a register says, the most frequent first.
    pub indirect: Vec<Branch>,
    pub paths: Option<Paths>,
    /// Numbers of events, where the blocks begin that they were put down to, and how many; the most first.
    pub events: Vec<(u8, Option<Place>, EventRow)>,
}

impl<'a> Report<'a> {
    pub fn new(profile: &Profile, program: &'a Program, graph: &'a Graph, done: Done) -> Self {
        let Done { calls, losses, trips, paths, events } = done;
        let mut functions: Vec<_> = calls.tree.functions().into_iter().collect();
        functions.sort_by_key(|(number, of)| {
            (
                Reverse((of.own.instructions, of.inclusive.instructions)),
                calls.functions.name(*number).to_owned(),
            )
        });
        let mut loops: Vec<_> = graph.loops().iter().copied().zip(trips).collect();
        loops.sort_by_key(|(of, trips)| (Reverse(trips.instructions), of.header));
        let (mut indirect, mut conditional) = (Vec::new(), Vec::new());
        for branch in branches(profile) {
            if branch.class.conditional {
                conditional.push(branch);
            } else if branch.is_indirect_call() {
                indirect.push(branch);
            }
        }
        conditional.sort_by_key(|branch| (Reverse((branch.minority(), branch.runs())), branch.place));
        indirect.sort_by_key(|branch| (Reverse(branch.runs()), branch.place));
        let mut events: Vec<_> = events.into_iter().map(|((event, at), row)| (event, at, row)).collect();
        events.sort_by_key(|(event, at, row)| (Reverse(row.count), *event, *at));
        let instructions = functions.iter().map(|(_, of)| of.own.instructions).sum();
        let cycles = functions.iter().map(|(_, of)| of.own.cycles).sum();
        Self {
            program,
            graph,
            calls,
            losses,
            instructions,
            cycles,
            functions,
            loops,
            branches: conditional,
            indirect,
            paths,
            events,
        }
    }

    /// Events by number and function, the most first.
    pub fn events_of_functions(&self) -> Vec<(u8, String, EventRow)> {
        let mut sums: HashMap<(u8, String), EventRow> = HashMap::new();
        for (event, at, row) in &self.events {
            let name = at.map_or_else(
                || "?".to_owned(),
                |at| names::function(self.program.image(), at.address, self.program.space(at.binary)),
            );
            sums.entry((*event, name)).or_default().merge(row);
        }
        let mut rows: Vec<_> = sums.into_iter().map(|((event, name), row)| (event, name, row)).collect();
        rows.sort_by(|a, b| (Reverse(a.2.count), a.0, &a.1).cmp(&(Reverse(b.2.count), b.0, &b.1)));
        rows
    }

    /// `main+0x10`.
    pub fn place(&self, place: Place, width: usize) -> String {
        let space = self.program.space(place.binary);
        let text = names::place(self.program.image(), place.address, space, width);
        if text.is_empty() { format!("{:#x}", place.address) } else { text }
    }

    /// `sort.c:12`.
    pub fn source(&self, place: Place) -> Option<String> {
        let source = self.program.source(place).filter(|source| source.line > 0)?;
        Some(format!("{}:{}", names::file_name(source.file), source.line))
    }

    /// Where a loop begins.
    pub fn header(&self, of: &Loop) -> Place {
        self.graph.leaders()[of.header as usize].place
    }

    /// Whether calls from there are of methods, as far as names tell: all that it called belong to a type.
    pub fn is_virtual(&self, branch: &Branch) -> bool {
        let is_method =
            |place: &Place| self.program.symbol(*place).is_some_and(|symbol| symbol.name.contains("::"));
        !branch.targets.is_empty() && branch.targets.iter().all(|(to, _)| is_method(to))
    }
}
