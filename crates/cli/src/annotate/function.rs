//! A function's instructions, and what each did.

use std::cmp::Reverse;
use std::collections::HashMap;

use tracewright_core::{Flow, Isa};
use tracewright_flow::InBlock;
use tracewright_profile::coverage::Ran;
use tracewright_profile::{Cost, Place, PlaceFilter, Profile, Program, Runs, inlined_into, walk};

use crate::control;
use crate::filter::{binaries, is_called};
use tracewright::names;

/// The most callers that a message names for an inlined function, and the most letters of each name.
const INLINED: usize = 3;
const LONGEST: usize = 40;

/// A function of a binary.
#[derive(Debug)]
pub struct Function {
    pub name: String,
    pub binary: u32,
    /// The address of its first instruction, as linked.
    pub start: u64,
    /// How often it was entered.
    pub calls: u64,
    /// In the order of addresses; also of the part that the compiler put apart.
    pub rows: Vec<Row>,
}

/// An instruction.
#[derive(Debug)]
pub struct Row {
    pub isa: Isa,
    pub at: InBlock,
    /// How often it ran.
    pub count: u64,
    /// How it went, if it is a conditional branch.
    pub runs: Option<Runs>,
    /// Where it went, if it does not say so itself: the most frequent first.
    pub targets: Vec<(Place, u64)>,
    /// Where its cycles are known.
    pub cost: Option<Cost>,
    /// The function that it is of, if that is inlined here.
    pub inlined: Option<String>,
}

impl Function {
    /// How many of its instructions are of functions that are inlined.
    pub fn inlined(&self) -> usize {
        self.rows.iter().filter(|row| row.inlined.is_some()).count()
    }

    /// How many instructions it executed.
    pub fn executed(&self) -> u64 {
        self.rows.iter().map(|row| row.count).sum()
    }

    /// Leaves out the instructions that are elsewhere.
    pub fn keep(&mut self, places: &PlaceFilter) {
        let binary = self.binary;
        self.rows.retain(|row| places.has(Place { binary, address: row.at.address }));
    }

    /// Its cycles, where any are known.
    pub fn cycles(&self) -> Option<u64> {
        let known: Vec<_> = self.rows.iter().filter_map(|row| row.cost).collect();
        (!known.is_empty()).then(|| known.iter().map(|cost| cost.cycles).sum())
    }
}

/// All functions of this name in all binaries, what ran most first.
pub fn find(profile: &Profile, program: &Program, ran: &[Ran], name: &str) -> Vec<Function> {
    let mut all: Vec<Function> = Vec::new();
    for (binary, ran) in (0..).zip(ran) {
        let Some(file) = program.file(binary) else { continue };
        let code = file.code();
        let parts: Vec<_> = file.functions().into_iter().filter(|part| is_called(part.name, name)).collect();
        for part in &parts {
            // What was put apart belongs to the function itself.
            let whole = part.name.strip_suffix(".cold").unwrap_or(part.name);
            let start = parts.iter().find(|other| other.name == whole).map_or(part.start, |it| it.start);
            let start = if whole == part.name { part.start } else { start };
            let is_it = |known: &&mut Function| known.binary == binary && known.start == start;
            let function = match all.iter_mut().find(is_it) {
                Some(function) => function,
                None => {
                    all.push(Function { name: whole.to_owned(), binary, start, calls: 0, rows: Vec::new() });
                    let Some(function) = all.last_mut() else { continue };
                    function
                }
            };
            if part.range.start == start {
                let place = Place { binary, address: start };
                function.calls = ran.entered(place, |from| part.range.contains(&from));
            }
            walk::instructions(program, binary, &part.range, &code, |isa, at| {
                let frames = program.frames(Place { binary, address: at.address });
                let inlined = frames.first().filter(|_| frames.len() > 1).and_then(|frame| frame.function);
                function.rows.push(Row { inlined: inlined.map(str::to_owned), ..row(ran, isa, at) });
            });
        }
    }
    all.iter_mut().for_each(|function| targets(function, profile));
    all.retain(|function| !function.rows.is_empty());
    all.sort_by_key(|function| (Reverse(function.executed()), function.binary, function.start));
    all
}

fn row(ran: &Ran, isa: Isa, at: &InBlock) -> Row {
    let branches = matches!(at.class.flow, Flow::Direct | Flow::Indirect | Flow::Pair);
    let runs = (branches && at.class.conditional).then(|| ran.branch(at.address));
    Row { isa, at: *at, count: ran.at(at.address), runs, targets: Vec::new(), cost: None, inlined: None }
}

/// Where its indirect branches went.
fn targets(function: &mut Function, profile: &Profile) {
    let binary = function.binary;
    let rows = function.rows.iter_mut().filter(|row| row.count > 0 && row.at.class.flow == Flow::Indirect);
    let mut indirect: HashMap<u64, &mut Row> = rows.map(|row| (row.at.address, row)).collect();
    for (&(from, to), &count) in profile.branches.iter().filter(|((from, _), _)| from.binary == binary) {
        if let Some(row) = indirect.get_mut(&from.address) {
            row.targets.push((to, count));
        }
    }
    indirect.into_values().for_each(|row| row.targets.sort_by_key(|&(to, count)| (Reverse(count), to)));
}

/// Says where a function is inlined of which no code of its own ran, if it is.
pub fn inlined(
    profile: &Profile,
    program: &Program,
    ran: &[Ran],
    name: &str,
    is_only_inlined: bool,
) -> Option<String> {
    let into = inlined_into(&binaries(profile, &[program]), ran, name);
    let mut into: Vec<_> = into.into_iter().filter(|(_, ran)| is_only_inlined || *ran > 0).collect();
    into.sort_by_key(|(_, ran)| Reverse(*ran));
    let own = if is_only_inlined { "has no code of its own" } else { "never ran on its own" };
    let how = if into.first()?.1 > 0 { "it ran inlined into" } else { "it is inlined into" };
    let more = into.len().saturating_sub(INLINED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let into: Vec<_> = into.iter().take(INLINED).map(|(into, _)| names::cut(into, LONGEST)).collect();
    Some(format!("{name} {own}: {how} {}{more}; annotate that, or see coverage --function", into.join(", ")))
}

/// Says that there is no such function, and which there are.
pub fn unknown(profile: &Profile, program: &Program, name: &str) -> String {
    if profile.binaries.is_empty() {
        return "nothing ran of which the program is known: give it with --image".into();
    }
    let mut like = Vec::new();
    for binary in 0..profile.binaries.len() as u32 {
        let functions = program.file(binary).map(|file| file.functions()).unwrap_or_default();
        let found = functions.iter().map(|function| function.name).filter(|known| known.contains(name));
        like.extend(found.map(str::to_owned));
    }
    like.sort_by_key(|known| (known.len(), known.clone()));
    like.dedup();
    like.truncate(5);
    if let (true, Some(near)) = (like.is_empty(), control::near(program.image(), name)) {
        like.push(near.to_owned());
    }
    match like.is_empty() {
        true => format!("no binary of which something ran has a function {name}: are its symbols there?"),
        false => format!("no function {name}: do you mean {}?", like.join(", ")),
    }
}
