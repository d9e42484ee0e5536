//! BOLT's own profile (`llvm-bolt -data`): how often each branch was taken or not, by function and offset.

use std::collections::BTreeMap;

use tracewright_core::Role;
use tracewright_core::text::Printable;
use tracewright_flow::InBlock;
use tracewright_flow::hash::{HashMap, HashSet};

use super::ranges::{Ranges, Targets, functions};
use crate::counts::{Code, Place, Profile};
use crate::program::Program;

/// Writes one binary.
pub fn write(profile: &Profile, program: &Program, number: u32) -> String {
    let Ranges { branches: mut edges, .. } = Ranges::of(profile, program, number, Targets::Known);
    let mut returns = HashSet::default();
    for code in profile.blocks.keys().filter(|code| code.start.binary == number) {
        if code.class.role == Role::Return {
            returns.insert(code.last().address);
        }
    }
    for (&(from, to), &count) in profile.branches.iter() {
        if from.binary != number && to.binary == number {
            *edges.entry((0, to.address)).or_default() += count;
        }
    }
    // BOLT infers the targets of returns from the calls.
    edges.retain(|(from, _), _| !returns.contains(from));
    for ((from, to), count) in fallen(profile, program, number, &edges) {
        *edges.entry((from, to)).or_default() += count;
    }
    let mut names = Names { program, number, known: HashMap::default() };
    let mut lines: Vec<_> = edges
        .into_iter()
        .filter_map(|((from, to), count)| {
            let (from, to) = (names.of(from), names.of(to));
            // An edge needs a name on one side.
            (from != NOWHERE || to != NOWHERE).then(|| format!("{from} {to} 0 {count}\n"))
        })
        .collect();
    lines.sort();
    lines.concat()
}

/// Counts fall-throughs to where BOLT begins a block: after a branch that was not taken, and at branch targets.
fn fallen(
    profile: &Profile,
    program: &Program,
    number: u32,
    edges: &BTreeMap<(u64, u64), u64>,
) -> HashMap<(u64, u64), u64> {
    let mut goals: HashSet<u64> = edges.keys().map(|&(_, to)| to).collect();
    for function in functions(profile, program).iter().filter(|function| function.start.binary == number) {
        goals.extend(program.instructions(function).filter_map(|instruction| instruction.target));
    }
    let mut fallen = HashMap::default();
    for (code, runs) in profile.blocks.iter().filter(|(code, _)| code.start.binary == number) {
        let mut last = None;
        for instruction in program.instructions(code) {
            let before = last.replace(instruction.address);
            if let Some(before) = before.filter(|_| goals.contains(&instruction.address)) {
                *fallen.entry((before, instruction.address)).or_default() += runs.all();
            }
        }
        // A jump behind a conditional branch belongs to the same block, unless it is a branch target.
        let next = Code { start: code.end(), ..*code };
        let is_jump =
            |next: InBlock| next.target.is_some() && !next.class.conditional && next.class.role == Role::Jump;
        let ends_with_jump = || program.instructions(&next).next().is_some_and(is_jump);
        let to = code.end().address;
        if runs.not_taken > 0 && (goals.contains(&to) || !ends_with_jump()) {
            *fallen.entry((code.last().address, to)).or_default() += runs.not_taken;
        }
    }
    fallen
}

const NOWHERE: &str = "0 [unknown] 0";

/// Function names as BOLT writes them.
struct Names<'p> {
    program: &'p Program,
    number: u32,
    /// Start address and name of functions, by start address.
    known: HashMap<u64, (u64, Option<String>)>,
}

impl Names<'_> {
    /// Formats an address as function and offset.
    fn of(&mut self, address: u64) -> String {
        let place = Place { binary: self.number, address };
        let symbol = if address == 0 { None } else { self.program.symbol(place) };
        let Some(start) = symbol.map(|symbol| symbol.start) else { return NOWHERE.into() };
        let (start, name) = self.known.entry(start).or_insert_with(|| {
            let Some(found) = self.program.linkage(place) else { return (0, None) };
            let name = std::str::from_utf8(found.name).ok().map(|name| {
                let name = Printable(name).to_string().replace(' ', "\\ ");
                // Local names may repeat: BOLT numbers them in address order.
                match found.global {
                    _ if found.plt => format!("{name}@PLT"),
                    true => name,
                    false => format!("{name}/{}", found.before + 1),
                }
            });
            (found.start, name)
        });
        match name {
            Some(name) => format!("1 {name} {:x}", address.wrapping_sub(*start)),
            None => NOWHERE.into(),
        }
    }
}
