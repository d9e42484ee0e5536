//! A profile as rows: functions, loops and branches, the most significant first.

use std::cmp::Reverse;

use tracewright_core::Role;
use tracewright_flow::hash::{HashMap, HashSet};
use tracewright_profile::{
    Branch, CallSums, CallTree, Calls, Edge, EventRow, Function, Functions, Graph, HotPath, InlinedCopy,
    Loop, Losses, Paths, Place, PlaceFilter, Profile, Program, TripCounts, branches, counted,
};

use super::Followed;
use crate::names;

/// Rows of a profile.
#[derive(Debug)]
pub struct Report<'a> {
    /// The programs.
    pub program: &'a Program,
    /// Names of binaries, by number.
    pub binaries: Vec<String>,
    /// Graph of the code that ran.
    pub graph: &'a Graph,
    /// Places whose rows are shown; `None` for all.
    places: Option<&'a PlaceFilter>,
    /// Whether the order of execution is known. Without it there are no callers, single trips or cycles.
    pub is_ordered: bool,
    /// Tree of calls.
    pub calls: CallTree,
    /// What could not be followed.
    pub losses: Losses,
    /// Instructions of all functions, shown or not: the base of percentages.
    pub instructions: u64,
    /// Cycles of all functions.
    pub cycles: u64,
    /// Instructions of the functions that are shown.
    pub shown: u64,
    /// Functions by number in `calls`, those with most instructions of their own first.
    pub functions: Vec<(u32, Calls)>,
    /// Functions whose calls are estimates, at least in part, because they are inlined, by number in `calls`.
    pub estimated: HashSet<u32>,
    /// Calls of one function by another, by number in `calls`: caller, callee and sums, those with most instructions first. None if the
    /// order of execution is not known.
    pub edges: Vec<(u32, u32, Edge)>,
    /// Loops, those with most instructions first.
    pub loops: Vec<(Loop, TripCounts)>,
    /// Conditional branches, those that go both ways most often first.
    pub branches: Vec<Branch>,
    /// Indirect calls, the most frequent first.
    pub indirect: Vec<Branch>,
    /// Paths, if they were followed.
    pub paths: Option<Paths>,
    /// Events: number, start of the block that each was attributed to, and counts; the most first.
    pub events: Vec<(u8, Option<Place>, EventRow)>,
}

impl<'a> Report<'a> {
    /// Makes the rows in `places` of a profile, and of what was followed in order, if anything was.
    pub fn new(
        profile: &Profile,
        program: &'a Program,
        graph: &'a Graph,
        done: Option<Followed>,
        places: Option<&'a PlaceFilter>,
    ) -> Self {
        let is_ordered = done.is_some();
        let Followed { mut calls, losses, trips, paths, events, there, .. } =
            done.unwrap_or_else(|| Followed { trips: counted(graph, profile), ..Followed::default() });
        let is_there = |place: Place| places.is_none_or(|places| places.has_in(program, place));
        let copies = calls.functions.inlined_copies(profile, program);
        let mut functions = counted_functions(profile, program, &mut calls.functions, &copies);
        // Only following in order finds entries without a call (exceptions); only counting finds calls that are too deep.
        for (number, ordered) in calls.tree.functions() {
            let of = functions.entry(number).or_default();
            let instructions = of.own.instructions;
            *of = Calls { calls: of.calls.max(ordered.calls), ..ordered };
            of.own.instructions = instructions;
        }
        let mut functions: Vec<_> = functions.into_iter().collect();
        functions.sort_by_key(|(number, of)| {
            (
                Reverse((of.own.instructions, of.inclusive.instructions)),
                calls.functions.name(*number).to_owned(),
            )
        });
        let instructions = functions.iter().map(|(_, of)| of.own.instructions).sum();
        let cycles = functions.iter().map(|(_, of)| of.own.cycles).sum();
        // Others were entered outside the requested window.
        functions.retain(|(_, of)| of.calls > 0 || of.own.instructions > 0 || of.inclusive.instructions > 0);
        if let Some(places) = places {
            let own = own_there(profile, program, &mut calls.functions, places, there.as_ref());
            functions.retain_mut(|(number, of)| {
                of.own = own.get(number).copied().unwrap_or_default();
                of.own.instructions > 0
            });
        }
        let is_shown = |number: &u32| functions.iter().any(|(shown, _)| shown == number);
        let mut edges: Vec<_> =
            calls.edges(&copies).into_iter().map(|((from, to), of)| (from, to, of)).collect();
        edges.retain(|(from, to, of)| {
            (of.calls > 0 || of.inclusive.instructions > 0)
                && (places.is_none() || is_shown(from) || is_shown(to))
        });
        edges.sort_by_key(|(from, to, of)| {
            let name = |number: &u32| calls.functions.name(*number).to_owned();
            (Reverse((of.inclusive.instructions, of.calls)), name(from), name(to))
        });
        let shown = functions.iter().map(|(_, of)| of.own.instructions).sum();
        let mut loops: Vec<_> = graph.loops().iter().copied().zip(trips).collect();
        loops.retain(|(of, _)| is_there(graph.leaders()[of.header as usize].place));
        loops.sort_by_key(|(of, trips)| (Reverse(trips.instructions), of.header));
        let (mut indirect, mut conditional) = (Vec::new(), Vec::new());
        for branch in branches(profile).into_iter().filter(|branch| is_there(branch.place)) {
            if branch.class.conditional {
                conditional.push(branch);
            } else if branch.is_indirect_call() {
                indirect.push(branch);
            }
        }
        conditional.sort_by_key(|branch| (Reverse((branch.minority(), branch.runs())), branch.place));
        indirect.sort_by_key(|branch| (Reverse(branch.runs()), branch.place));
        let mut events: Vec<_> = events.into_iter().map(|((event, at), row)| (event, at, row)).collect();
        events.retain(|(_, at, _)| places.is_none() || at.is_some_and(is_there));
        events.sort_by_key(|(event, at, row)| (Reverse(row.count), *event, *at));
        Self {
            program,
            binaries: profile.binaries.iter().map(|binary| binary.name.clone()).collect(),
            graph,
            places,
            is_ordered,
            calls,
            losses,
            instructions,
            cycles,
            shown,
            functions,
            estimated: copies.iter().map(|copy| copy.callee).collect(),
            edges,
            loops,
            branches: conditional,
            indirect,
            paths,
            events,
        }
    }

    /// Returns the name of a function's binary.
    pub fn binary_of(&self, function: &Function) -> Option<&str> {
        let file = function.file?;
        // Binaries that are not at hand are numbered from the other end.
        let number = self.program.binary_of(file).unwrap_or(u32::MAX - file);
        self.binaries.get(number as usize).map(String::as_str)
    }

    /// Returns whether rows of a place are shown.
    pub fn is_there(&self, place: Place) -> bool {
        self.places.is_none_or(|places| places.has_in(self.program, place))
    }

    /// Returns whether only some rows are shown.
    pub fn is_part(&self) -> bool {
        self.places.is_some()
    }

    /// Returns the paths that run most often and end in the places shown.
    pub fn hot(&self, paths: &Paths, most: usize) -> Vec<HotPath> {
        if self.places.is_none() {
            return paths.hot(most);
        }
        let ends_there = |path: &HotPath| path.branches.last().is_some_and(|(at, _)| self.is_there(*at));
        paths.hot(usize::MAX).into_iter().filter(ends_there).take(most).collect()
    }

    /// Returns events by number and function, the most first.
    pub fn events_of_functions(&self) -> Vec<(u8, String, EventRow)> {
        let mut sums: HashMap<(u8, String), EventRow> = HashMap::default();
        for (event, at, row) in &self.events {
            let name = |at: Place| match self.program.function_name(at) {
                Some(name) => name.into_owned(),
                None => names::function(self.program.image(), at.address, self.program.space(at.binary)),
            };
            let name = at.map_or_else(|| "?".to_owned(), name);
            sums.entry((*event, name)).or_default().merge(row);
        }
        let mut rows: Vec<_> = sums.into_iter().map(|((event, name), row)| (event, name, row)).collect();
        rows.sort_by(|a, b| (Reverse(a.2.count), a.0, &a.1).cmp(&(Reverse(b.2.count), b.0, &b.1)));
        rows
    }

    /// Returns a place as text: `main+0x10`.
    pub fn place(&self, place: Place, width: usize) -> String {
        let space = self.program.space(place.binary);
        let text = names::place(self.program.image(), place.address, space, width);
        if text.is_empty() { format!("{:#x}", place.address) } else { text }
    }

    /// Returns the source line of a place: `sort.c:12`.
    pub fn source(&self, place: Place) -> Option<String> {
        let source = self.program.source(place).filter(|source| source.line > 0)?;
        Some(format!("{}:{}", names::file_name(source.file), source.line))
    }

    /// Returns where a loop begins.
    pub fn header(&self, of: &Loop) -> Place {
        self.graph.leaders()[of.header as usize].place
    }

    /// Returns whether an indirect call calls methods, judging by names: each callee belongs to a type.
    pub fn is_virtual(&self, branch: &Branch) -> bool {
        let is_method =
            |place: &Place| self.program.symbol(*place).is_some_and(|symbol| symbol.name.contains("::"));
        !branch.targets.is_empty() && branch.targets.iter().all(|(to, _)| is_method(to))
    }
}

/// Returns what each function ran itself in some places: instructions from a profile, cycles from what was followed there.
fn own_there(
    profile: &Profile,
    program: &Program,
    functions: &mut Functions,
    places: &PlaceFilter,
    followed: Option<&CallTree>,
) -> HashMap<u32, CallSums> {
    let mut kept = profile.clone();
    places.keep(&mut kept, program);
    let counted = counted_functions(&kept, program, functions, &[]);
    let mut own: HashMap<u32, CallSums> = counted.into_iter().map(|(number, of)| (number, of.own)).collect();
    if let Some(followed) = followed {
        let numbers = functions.merge(&followed.functions);
        for (number, of) in followed.tree.functions() {
            if let Some(&number) = numbers.get(number as usize) {
                own.entry(number).or_default().cycles = of.own.cycles;
            }
        }
    }
    own
}

/// Returns what each function executed, by number, and how often it was entered: by calls, by jumps to its start from elsewhere, and by
/// what no branch of the profile explains, as exceptions, signals, and calls by pointer in branch lists. Instructions of inlined functions belong to these, and `copies` tells how often they were called.
pub(crate) fn counted_functions(
    profile: &Profile,
    program: &Program,
    numbers: &mut Functions,
    copies: &[InlinedCopy],
) -> HashMap<u32, Calls> {
    let mut functions: HashMap<u32, Calls> = HashMap::default();
    for (code, runs) in &profile.blocks {
        let function = numbers.of(profile, program, code.start);
        let divided = numbers.divide_code(program, code);
        for (range, chain) in numbers.parts(divided, code.count) {
            let own = &mut functions.entry(*chain.last().unwrap_or(&function)).or_default().own;
            let instructions = (range.len() as u64).saturating_mul(runs.all());
            own.instructions = own.instructions.saturating_add(instructions);
        }
    }
    for copy in copies {
        let calls = &mut functions.entry(copy.callee).or_default().calls;
        *calls = calls.saturating_add(copy.calls);
    }
    let mut explained: HashMap<Place, u64> = HashMap::default();
    for branch in branches(profile) {
        let is_call = matches!(branch.class.role, Role::Call | Role::Swap);
        let from = numbers.of(profile, program, branch.place);
        for (place, count) in branch.targets {
            *explained.entry(place).or_default() += count;
            let to = numbers.of(profile, program, place);
            let start = numbers.list().get(to as usize).and_then(|function| function.start);
            if is_call || (to != from && start == Some(place.address)) {
                let calls = &mut functions.entry(to).or_default().calls;
                *calls = calls.saturating_add(count);
            }
        }
    }
    for (function, count) in entries_without_branch(profile, program, numbers, explained) {
        let calls = &mut functions.entry(function).or_default().calls;
        *calls = calls.saturating_add(count);
    }
    functions
}

/// Returns how often functions began without a branch to their start or code that runs into it. `explained` has the branches. Where a program
/// begins is no call.
fn entries_without_branch(
    profile: &Profile,
    program: &Program,
    numbers: &mut Functions,
    mut explained: HashMap<Place, u64>,
) -> Vec<(u32, u64)> {
    let mut begun: HashMap<Place, u64> = HashMap::default();
    for (code, runs) in &profile.blocks {
        let begun = begun.entry(code.start).or_default();
        *begun = begun.saturating_add(runs.all());
        let explained = explained.entry(code.end()).or_default();
        *explained = explained.saturating_add(runs.not_taken.saturating_add(runs.through));
    }
    let mut entries = Vec::new();
    for (place, count) in begun {
        let count = count.saturating_sub(explained.get(&place).copied().unwrap_or(0));
        if count == 0 || program.file(place.binary).and_then(|file| file.entry()) == Some(place.address) {
            continue;
        }
        let function = numbers.of(profile, program, place);
        if numbers.list().get(function as usize).and_then(|function| function.start) == Some(place.address) {
            entries.push((function, count));
        }
    }
    entries
}
