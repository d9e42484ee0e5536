//! File format of valgrind's callgrind, for callgrind_annotate and KCachegrind.
//!
//! Instructions are written by source line. The cycles of a function are written at its first line, since they are not
//! known by line. The inclusive cost of calls is known for each pair of functions. If a function calls another from
//! several lines, the cost is divided by the number of calls. A function that runs below another without a call, as after a jump, counts
//! as called once: after `calls=0`, callgrind_annotate takes the inclusive cost for the caller's own.
//!
//! KCachegrind knows no inlined functions. Here they are functions that are called from the line where they are inlined,
//! with as many calls as [`InlinedCopy`] tells. Without them
//! ([`Program::show_inlined`](crate::Program::show_inlined)), their lines are lines of the function around them, after
//! `fi=` if they are in another file.

use std::collections::BTreeMap;
use std::fmt::Write;

use tracewright_core::Role;
use tracewright_core::text::Printable;
use tracewright_flow::hash::HashMap;

use crate::calls::{CallSums, CallTree, Edge};
use crate::costs::Portions;
use crate::counts::{Place, Profile};
use crate::functions::Functions;
use crate::inlined::InlinedCopy;
use crate::program::Program;

/// Instructions of a function by file (`None` for the file of its start) and line.
type Lines = BTreeMap<(Option<String>, u32), u64>;

/// Writes the file.
pub fn write(calls: &CallTree, profile: &Profile, program: &Program) -> String {
    let mut functions = calls.functions.clone();
    let lines = lines(&mut functions, profile, program);
    let copies = functions.inlined_copies(profile, program);
    let sites = sites(&mut functions, profile, program, &copies);
    let sums = calls.tree.functions();
    let mut edges: BTreeMap<u32, BTreeMap<u32, Edge>> = BTreeMap::new();
    for ((caller, callee), edge) in calls.edges(&copies) {
        edges.entry(caller).or_default().insert(callee, edge);
    }
    let row = |sums: &CallSums| match calls.has_cycles {
        true => format!("{} {}", sums.instructions, sums.cycles),
        false => sums.instructions.to_string(),
    };
    let mut all = CallSums::default();
    let mut body = String::new();
    for (number, function) in (0..).zip(functions.list()) {
        let Some(of) = sums.get(&number) else { continue };
        all += of.own;
        let start = start_of(&functions, number, program);
        let _ = writeln!(body, "ob={}", object(function.file, program));
        let _ = writeln!(body, "fl={}\nfn={}", start.0, function.name);
        let mut told = CallSums::default();
        for ((file, line), &instructions) in lines.get(&number).into_iter().flatten() {
            if file.is_some() {
                let _ = writeln!(body, "fi={}", Printable(file.as_deref().unwrap_or_default()));
            }
            let _ = writeln!(body, "{line} {}", row(&CallSums { instructions, cycles: 0 }));
            told.instructions += instructions;
            if file.is_some() {
                let _ = writeln!(body, "fe={}", start.0);
            }
        }
        // Cycles, and instructions of deeper calls that the tree did not keep.
        let rest = CallSums {
            instructions: of.own.instructions.saturating_sub(told.instructions),
            cycles: of.own.cycles,
        };
        if rest != CallSums::default() {
            let _ = writeln!(body, "{} {}", start.1, row(&rest));
        }
        for (&callee, edge) in edges.get(&number).into_iter().flatten() {
            let to = start_of(&functions, callee, program);
            let target = &functions.list()[callee as usize];
            let own = BTreeMap::from([(start.1, edge.calls.max(1))]);
            let places = sites.get(&(number, callee)).unwrap_or(&own);
            let among: u64 = places.values().sum();
            let mut calls = Portions::new(edge.calls, among);
            let mut instructions = Portions::new(edge.inclusive.instructions, among);
            let mut cycles = Portions::new(edge.inclusive.cycles, among);
            for (line, &weight) in places {
                let sums = CallSums { instructions: instructions.take(weight), cycles: cycles.take(weight) };
                let calls = calls.take(weight);
                if calls == 0 && sums == CallSums::default() {
                    continue;
                }
                let _ = writeln!(body, "cob={}", object(target.file, program));
                let _ = writeln!(body, "cfi={}\ncfn={}", to.0, target.name);
                // Valgrind, too, takes a jump into a function for a call of it.
                let _ = writeln!(body, "calls={} {}\n{line} {}", calls.max(1), to.1, row(&sums));
            }
        }
        body.push('\n');
    }
    let events = if calls.has_cycles { "Instructions Cycles" } else { "Instructions" };
    format!(
        "# callgrind format\nversion: 1\ncreator: tracewright\npositions: line\nevents: {events}\nsummary: {}\n\n{body}totals: {}\n",
        row(&all),
        row(&all)
    )
}

fn object(file: Option<u32>, program: &Program) -> Printable<'_> {
    let found = file.and_then(|file| program.image().files().nth(file as usize));
    Printable(found.map_or("???", |file| file.name()))
}

/// Returns the source file and line of a function's start.
fn start_of<'p>(functions: &'p Functions, number: u32, program: &'p Program) -> (Printable<'p>, u32) {
    let source = program.source_of(&functions.list()[number as usize]);
    source.map_or((Printable("???"), 0), |source| (Printable(source.file), source.line))
}

/// Returns instructions by function and line. A block counts for the function that it begins in, and for those inlined
/// there.
fn lines(functions: &mut Functions, profile: &Profile, program: &Program) -> HashMap<u32, Lines> {
    let mut all: HashMap<u32, Lines> = HashMap::default();
    let mut files: HashMap<u32, String> = HashMap::default();
    for (code, runs) in &profile.blocks {
        let function = functions.at(program, code.start);
        let divided = functions.divide_code(program, code);
        let mut instructions = program.instructions(code);
        for (range, chain) in functions.parts(divided, code.count) {
            let function = *chain.last().unwrap_or(&function);
            let main = files.entry(function);
            let main = main.or_insert_with(|| start_of(functions, function, program).0.0.to_owned());
            let of = all.entry(function).or_default();
            let mut told = 0;
            for at in instructions.by_ref().take(range.len()) {
                let source = program.source(Place { address: at.address, ..code.start });
                let file = source.map(|source| source.file).filter(|file| file != main);
                let line = source.map_or(0, |source| source.line);
                *of.entry((file.map(str::to_owned), line)).or_default() += runs.all();
                told += 1;
            }
            let untold = (range.len() as u64 - told) * runs.all();
            if untold > 0 {
                *of.entry((None, 0)).or_default() += untold;
            }
        }
    }
    all
}

/// Returns the lines from which one function calls another, with counts.
fn sites(
    functions: &mut Functions,
    profile: &Profile,
    program: &Program,
    copies: &[InlinedCopy],
) -> HashMap<(u32, u32), BTreeMap<u32, u64>> {
    let roles: HashMap<Place, Role> =
        profile.blocks.keys().map(|code| (code.last(), code.class.role)).collect();
    let mut all: HashMap<(u32, u32), BTreeMap<u32, u64>> = HashMap::default();
    for (&(from, to), count) in &profile.branches {
        let role = roles.get(&from);
        let is_call = matches!(role, Some(Role::Call | Role::Swap));
        if !is_call && role != Some(&Role::Jump) {
            continue;
        }
        let (caller, callee) = (functions.at(program, from), functions.at(program, to));
        // Branches inside a function are not calls of it.
        if !is_call && caller == callee {
            continue;
        }
        let caller = functions.innermost(program, from).unwrap_or(caller);
        let line = program.source(from).map_or(0, |source| source.line);
        *all.entry((caller, callee)).or_default().entry(line).or_default() += count;
    }
    for copy in copies {
        let line = copy.line.as_ref().map_or(0, |(_, line)| *line);
        *all.entry((copy.caller, copy.callee)).or_default().entry(line).or_default() += copy.calls.max(1);
    }
    all
}
