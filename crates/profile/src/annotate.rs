//! Instructions of a function, with what each did.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use tracewright_core::{Flow, Isa};
use tracewright_flow::InBlock;
use tracewright_flow::hash::HashMap;
use tracewright_image::{CodeRange, SourceLine};

use crate::costs::Cost;
use crate::counts::{Code, Place, Profile, Runs};
use crate::coverage::Ran;
use crate::functions::Functions;
use crate::places::{PlaceFilter, is_called};
use crate::program::Program;
use crate::walk;

/// A function of a binary, or an inlined copy of one.
#[derive(Debug)]
pub struct Function {
    /// Name.
    pub name: String,
    /// Number of the binary.
    pub binary: u32,
    /// Address of its first instruction, as linked.
    pub start: u64,
    /// Number of times it was entered; of an inlined copy, an estimate.
    pub calls: u64,
    /// Its instructions in the order of addresses, those that the compiler put apart included.
    pub rows: Vec<Row>,
    /// Place where it is inlined, if this is an inlined copy.
    pub inlined: Option<InlinedAt>,
}

/// Place where a function is inlined.
#[derive(Debug)]
pub struct InlinedAt {
    /// Name of the function around it.
    pub function: String,
    /// File and line of the call, if known.
    pub line: Option<(String, u32)>,
}

impl InlinedAt {
    /// Returns the line of the call without folders, if known: `main.c:12`.
    pub fn call(&self) -> Option<String> {
        let (file, line) = self.line.as_ref()?;
        Some(format!("{}:{line}", file.rsplit('/').next().unwrap_or(file)))
    }
}

/// An instruction of a function.
#[derive(Debug)]
pub struct Row {
    /// Instruction set.
    pub isa: Isa,
    /// The instruction.
    pub at: InBlock,
    /// Number of times it ran.
    pub count: u64,
    /// Number of times it was taken and not taken, if it is a conditional branch.
    pub runs: Option<Runs>,
    /// Targets of an indirect branch with their counts, the most frequent first.
    pub targets: Vec<(Place, u64)>,
    /// Its cycles, if a caller has added them.
    pub cost: Option<Cost>,
    /// Name of the inlined function that it belongs to, if any.
    pub inlined: Option<String>,
}

impl Function {
    fn new(name: String, binary: u32, start: u64) -> Self {
        Self { name, binary, start, calls: 0, rows: Vec::new(), inlined: None }
    }

    /// Returns the number of its instructions that belong to inlined functions.
    pub fn inlined_rows(&self) -> usize {
        self.rows.iter().filter(|row| row.inlined.is_some()).count()
    }

    /// Returns the number of instructions it executed.
    pub fn executed(&self) -> u64 {
        self.rows.iter().map(|row| row.count).sum()
    }

    /// Removes the instructions outside the places of a program.
    pub fn keep(&mut self, places: &PlaceFilter, program: &Program) {
        let binary = self.binary;
        self.rows.retain(|row| places.has_in(program, Place { binary, address: row.at.address }));
    }

    /// Returns its cycles, if any are known.
    pub fn cycles(&self) -> Option<u64> {
        let known: Vec<_> = self.rows.iter().filter_map(|row| row.cost).collect();
        (!known.is_empty()).then(|| known.iter().map(|cost| cost.cycles).sum())
    }
}

/// Returns the functions of this name in all binaries, those that executed most first. `ran` has what ran of each binary.
pub fn find(profile: &Profile, program: &Program, ran: &[Ran], name: &str) -> Vec<Function> {
    let mut all: Vec<Function> = Vec::new();
    for (binary, ran) in (0..).zip(ran) {
        let Some(file) = program.file(binary) else { continue };
        let code = file.code();
        let parts: Vec<_> = file.functions().into_iter().filter(|part| is_called(part.name, name)).collect();
        let by_calls = program.all_called(binary).filter(|(_, called)| called == name);
        all.extend(by_calls.map(|(range, name)| called(profile, program, ran, (binary, name, &range))));
        for part in &parts {
            // What was put apart belongs to the function itself.
            let whole = part.name.strip_suffix(".cold").unwrap_or(part.name);
            let start = parts.iter().find(|other| other.name == whole).map_or(part.start, |it| it.start);
            let start = if whole == part.name { part.start } else { start };
            let is_it = |known: &&mut Function| known.binary == binary && known.start == start;
            let function = match all.iter_mut().find(is_it) {
                Some(function) => function,
                None => {
                    all.push(Function::new(whole.to_owned(), binary, start));
                    let Some(function) = all.last_mut() else { continue };
                    function
                }
            };
            if part.range.start == start {
                let place = Place { binary, address: start };
                function.calls = ran.entered(place, |from| part.range.contains(&from));
            }
            walk::instructions(program, binary, &part.range, &code, |isa, at| {
                let frames = program.inlined_frames(Place { binary, address: at.address });
                let inlined = frames.first().and_then(|frame| frame.function);
                function.rows.push(Row { inlined: inlined.map(str::to_owned), ..row(ran, isa, at) });
            });
        }
    }
    all.iter_mut().for_each(|function| targets(function, profile));
    all.retain(|function| !function.rows.is_empty());
    all.sort_by_key(|function| (Reverse(function.executed()), function.binary, function.start));
    all
}

/// Returns a function without a symbol, known by calls to it. Of a dump, only what ran tells which instructions it has.
fn called(
    profile: &Profile,
    program: &Program,
    ran: &Ran,
    (binary, name, range): (u32, String, &Range<u64>),
) -> Function {
    let mut code = program.file(binary).map(|file| file.code()).unwrap_or_default();
    if code.is_empty() {
        let is_there = |code: &&Code| code.start.binary == binary && range.contains(&code.start.address);
        let isa = profile.blocks.keys().find(is_there).map(|code| code.isa);
        code.extend(isa.map(|isa| CodeRange { range: range.clone(), isa }));
    }
    let mut function = Function::new(name, binary, range.start);
    let place = Place { binary, address: range.start };
    function.calls = ran.entered(place, |from| range.contains(&from));
    walk::instructions(program, binary, range, &code, |isa, at| function.rows.push(row(ran, isa, at)));
    // What comes after the last instruction that ran may be data, or another function that nothing called.
    let len = function.rows.iter().rposition(|row| row.count > 0).map_or(0, |last| last + 1);
    function.rows.truncate(len);
    function
}

/// Returns the inlined copies of the functions of this name, those that executed most first.
pub fn copies(profile: &Profile, program: &Program, ran: &[Ran], name: &str) -> Vec<Function> {
    let mut all: BTreeMap<(u32, usize), Function> = BTreeMap::new();
    for (binary, ran) in (0..).zip(ran) {
        let Some(file) = program.file(binary) else { continue };
        let code = file.code();
        for part in file.functions() {
            walk::instructions(program, binary, &part.range, &code, |isa, at| {
                let frames = program.frames(Place { binary, address: at.address });
                let inlined = frames.len().saturating_sub(1);
                let is_it = |number: &usize| {
                    frames[*number].is_called(name) && !frames[*number].is_same(&frames[*number + 1])
                };
                let Some(number) = (0..inlined).rev().find(is_it) else { return };
                let frame = &frames[number];
                let (Some(copy), Some(shown)) = (frame.copy, frame.function) else { return };
                let function = all.entry((binary, copy)).or_insert_with(|| {
                    let around = &frames[number + 1];
                    let line = around.line.filter(|line| line.line > 0);
                    let line = line.map(|SourceLine { file, line }| (file.to_owned(), line));
                    let around = around.function.filter(|_| number + 1 < inlined).unwrap_or(part.name);
                    let at = InlinedAt { function: around.to_owned(), line };
                    Function { inlined: Some(at), ..Function::new(shown.to_owned(), binary, part.start) }
                });
                let inner =
                    frames.first().filter(|inner| !inner.is_same(frame)).and_then(|inner| inner.function);
                function.rows.push(Row { inlined: inner.map(str::to_owned), ..row(ran, isa, at) });
            });
        }
    }
    let mut functions = Functions::default();
    for copy in functions.inlined_copies(profile, program) {
        if let Some(function) = all.get_mut(&(copy.binary, copy.copy)) {
            function.calls = copy.calls;
        }
    }
    let mut all: Vec<_> = all.into_values().collect();
    all.iter_mut().for_each(|function| targets(function, profile));
    all.sort_by_key(|function| {
        let first = function.rows.first().map(|row| row.at.address);
        (Reverse(function.executed()), function.binary, first)
    });
    all
}

fn row(ran: &Ran, isa: Isa, at: &InBlock) -> Row {
    let branches = matches!(at.class.flow, Flow::Direct | Flow::Indirect | Flow::Pair);
    let runs = (branches && at.class.conditional).then(|| ran.branch(at.address));
    Row { isa, at: *at, count: ran.at(at.address), runs, targets: Vec::new(), cost: None, inlined: None }
}

/// Adds the targets of its indirect branches.
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
