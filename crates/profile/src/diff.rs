//! Comparison of two profiles, of the same build or of two builds of a program.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::counts::{Binary, Code, Place, Profile, Runs};
use crate::functions::Functions;
use crate::program::Program;
use tracewright_flow::hash::HashMap;

/// A profile and its binaries.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Execution counts.
    pub profile: &'a Profile,
    /// Source of names.
    pub program: &'a Program,
}

/// Differences of two profiles. Arrays have one entry for each profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// Instructions executed.
    pub instructions: [u64; 2],
    /// Conditional branches executed.
    pub branches_ran: [u64; 2],
    /// Functions that ran in either profile, by decreasing change of their share. Their instructions add up to all.
    pub functions: Vec<Function>,
    /// Conditional branches that ran in either profile, by decreasing change of their share, then of their taken rate.
    /// They add up to all.
    pub branches: Vec<Branch>,
}

/// A function in both profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name; in brackets if the code is in no function.
    pub name: String,
    /// Set if the function has a name.
    pub is_known: bool,
    /// Instructions executed in it.
    pub instructions: [u64; 2],
}

/// A conditional branch in both profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Location: its function with an offset or a source line.
    pub name: String,
    /// Number of runs.
    pub ran: [u64; 2],
    /// Number of times it was taken.
    pub taken: [u64; 2],
}

impl Diff {
    /// Compares two profiles.
    pub fn new(sides: [Side<'_>; 2]) -> Self {
        let instructions = sides.map(|side| side.profile.instructions());
        let names = Names::of(sides);
        let branches = branches(sides, &names);
        let mut diff = Self { instructions, branches, functions: functions(&names), ..Self::default() };
        for branch in &diff.branches {
            diff.branches_ran[0] += branch.ran[0];
            diff.branches_ran[1] += branch.ran[1];
        }
        diff.functions.sort_by(|one, other| {
            let change = |of: &Function| change(of.instructions, instructions);
            change(other).abs().total_cmp(&change(one).abs()).then_with(|| one.name.cmp(&other.name))
        });
        let all = diff.branches_ran;
        diff.branches.sort_by(|one, other| {
            let by = |of: &Branch| (change(of.ran, all).abs(), change(of.taken, all).abs());
            let ((ran, taken), (other_ran, other_taken)) = (by(one), by(other));
            let order = other_ran.total_cmp(&ran).then_with(|| other_taken.total_cmp(&taken));
            order.then_with(|| one.name.cmp(&other.name))
        });
        diff
    }
}

/// Returns by how much a share grew: 0.5 is half of the total.
pub fn change(of: [u64; 2], all: [u64; 2]) -> f64 {
    share(of[1], all[1]) - share(of[0], all[0])
}

/// Returns the share of `of` in `all`.
pub fn share(of: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { of as f64 / all as f64 }
}

/// A function: its name and the file name of its binary.
type InFile<'a> = (String, &'a str);

/// Names of functions on both sides. Functions without symbols are those that calls on either side lead to, at the same
/// offset of the same binary, wherever it was loaded.
struct Names<'a> {
    side: Side<'a>,
    /// By binary: offsets and names of functions without symbols, ascending.
    called: HashMap<u32, Vec<(Range<u64>, String)>>,
}

impl<'a> Names<'a> {
    fn of(sides: [Side<'a>; 2]) -> [Self; 2] {
        let own = sides.map(|side| {
            let of_binary = |number: u32| {
                let called = side.program.all_called(number).filter_map(|(range, name)| {
                    let start = offset(side, Place { binary: number, address: range.start })?;
                    Some((start..start.saturating_add(range.end - range.start), name))
                });
                called.collect::<Vec<_>>()
            };
            (0..side.profile.binaries.len() as u32).map(of_binary).collect::<Vec<_>>()
        });
        [0, 1].map(|index| {
            let (side, other) = (sides[index], sides[1 - index]);
            let all = (0..).zip(&side.profile.binaries).map(|(number, binary)| {
                let mut all = own[index][number as usize].clone();
                let is_same = |other: &&(usize, &Binary)| is_same(binary, other.1);
                if let Some((same, _)) = other.profile.binaries.iter().enumerate().find(|of| is_same(&of)) {
                    all.extend(own[1 - index][same].iter().cloned());
                }
                all.sort_by_key(|(range, _)| (range.start, range.end));
                all.dedup_by_key(|(range, _)| range.start);
                (number, all)
            });
            Self { side, called: all.collect() }
        })
    }

    /// Returns the name of the function without a symbol at a place.
    fn called(&self, place: Place) -> Option<&str> {
        let all = self.called.get(&place.binary)?;
        let offset = offset(self.side, place)?;
        let last = all.partition_point(|(range, _)| range.start <= offset).checked_sub(1)?;
        let (_, name) = all.get(last).filter(|(range, _)| range.contains(&offset))?;
        Some(name)
    }

    /// Returns the function of a place, and whether it is a named one.
    fn function(&self, place: Place) -> (InFile<'a>, bool) {
        let file = binary(self.side.profile, place).map_or("", Binary::file_name);
        let name = self.side.program.symbol(place).map(|symbol| symbol.name);
        match name.or_else(|| self.called(place)) {
            Some(name) => ((name.to_owned(), file), true),
            None if file.is_empty() => (("[no binary]".into(), file), false),
            None => ((format!("[{file}]"), file), false),
        }
    }

    /// Returns the function of a place, the offset from its start, and the source line.
    fn place(&self, place: Place) -> (String, String, Option<String>) {
        let line = self.side.program.source(place).filter(|line| line.line > 0);
        let line =
            line.map(|line| format!("{}:{}", line.file.rsplit('/').next().unwrap_or(line.file), line.line));
        if let Some(symbol) = self.side.program.symbol(place) {
            let offset = place.address.wrapping_sub(symbol.start);
            return (symbol.name.to_owned(), format!("+{offset:#x}"), line);
        }
        let file = binary(self.side.profile, place).map_or("no binary", Binary::file_name);
        match offset(self.side, place) {
            // As everywhere in code without symbols.
            Some(offset) => (file.to_owned(), format!("+{offset:#x}"), line),
            None => (format!("[{file}]"), format!(" {:#x}", place.address), line),
        }
    }
}

/// Returns whether a binary of one side is that of the other: by build ID; without any, by file name.
fn is_same(one: &Binary, other: &Binary) -> bool {
    let has_id = !one.build_id.is_empty() || !other.build_id.is_empty();
    if has_id { one.is(other) } else { one.is_elf == other.is_elf && one.file_name() == other.file_name() }
}

/// Returns where a place is in its binary: the linked address in an ELF file, the offset in a dump. `None` if the binary
/// is not known, or is a dump that is not available.
fn offset(side: Side<'_>, place: Place) -> Option<u64> {
    if binary(side.profile, place)?.is_elf {
        return Some(place.address);
    }
    let region = side.program.image().region(place.address, side.program.space(place.binary))?;
    Some(region.offset(place.address).1)
}

fn functions(names: &[Names<'_>; 2]) -> Vec<Function> {
    let of = names.each_ref().map(|names| {
        let Side { profile, program } = names.side;
        let mut inlined = Functions::default();
        let mut of: HashMap<(InFile<'_>, bool), u64> = HashMap::default();
        for (code, runs) in &profile.blocks {
            let function = names.function(code.start);
            let divided = inlined.divide_code(program, code);
            for (range, chain) in inlined.parts(divided, code.count) {
                let inner = chain.last().map(|&inner| ((inlined.name(inner).to_owned(), function.0.1), true));
                let sum = of.entry(inner.unwrap_or_else(|| function.clone())).or_default();
                *sum = sum.saturating_add((range.len() as u64).saturating_mul(runs.all()));
            }
        }
        of
    });
    // A name that occurs in one binary only identifies the function in the other profile too, whatever its binary is called.
    let mut files: HashMap<&str, [BTreeSet<&str>; 2]> = HashMap::default();
    for (side, of) in of.iter().enumerate() {
        for ((name, file), _) in of.keys() {
            files.entry(name).or_default()[side].insert(file);
        }
    }
    let is_one = |name: &str| files.get(name).is_none_or(|files| files.iter().all(|files| files.len() < 2));
    let mut both: BTreeMap<(String, bool), [u64; 2]> = BTreeMap::new();
    for (side, of) in of.iter().enumerate() {
        for (((name, file), is_known), count) in of {
            let name = if is_one(name) { name.clone() } else { format!("{name} ({file})") };
            both.entry((name, *is_known)).or_default()[side] += count;
        }
    }
    let rows = both.into_iter();
    rows.map(|((name, is_known), instructions)| Function { name, is_known, instructions }).collect()
}

fn binary(profile: &Profile, place: Place) -> Option<&Binary> {
    profile.binaries.get(place.binary as usize)
}

/// Identity of a branch in both profiles.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// Same build: build ID and link-time address.
    Same(Vec<u8>, u64),
    /// Other builds: function, source line or offset from its start, and index among the branches there.
    Named(String, String, usize),
}

fn branches(sides: [Side<'_>; 2], names: &[Names<'_>; 2]) -> Vec<Branch> {
    let mut both: BTreeMap<Key, Branch> = BTreeMap::new();
    for (index, side) in sides.into_iter().enumerate() {
        let other = sides[1 - index].profile;
        let mut of: BTreeMap<Place, Runs> = BTreeMap::new();
        for (code, runs) in side.profile.blocks.iter().filter(|(code, _)| is_conditional(code)) {
            let runs = Runs { through: 0, ..*runs };
            if runs.all() > 0 {
                *of.entry(code.last()).or_default() += runs;
            }
        }
        let mut on_line: HashMap<(String, String), usize> = HashMap::default();
        for (place, runs) in of {
            let (function, offset, line) = names[index].place(place);
            let same = binary(side.profile, place).filter(|binary| {
                !binary.build_id.is_empty() && other.binaries.iter().any(|other| other.is(binary))
            });
            let (name, key) = match same {
                Some(binary) => {
                    let line = line.map_or(String::new(), |line| format!(" {line}"));
                    let key = Key::Same(binary.build_id.clone(), place.address);
                    (format!("{function}{offset}{line}"), key)
                }
                None => {
                    let separator = if line.is_some() { " " } else { "" };
                    let at = (function, line.unwrap_or(offset));
                    let nth = on_line.entry(at.clone()).or_default();
                    *nth += 1;
                    let number = if *nth > 1 { format!(" #{nth}") } else { String::new() };
                    (format!("{}{separator}{}{number}", at.0, at.1), Key::Named(at.0, at.1, *nth))
                }
            };
            let row = both.entry(key).or_insert_with(|| Branch { name, ran: [0; 2], taken: [0; 2] });
            row.ran[index] += runs.all();
            row.taken[index] += runs.taken;
        }
    }
    both.into_values().collect()
}

/// Returns whether a block ends with a conditional branch.
fn is_conditional(code: &Code) -> bool {
    code.class.is_branch() && code.class.conditional
}
