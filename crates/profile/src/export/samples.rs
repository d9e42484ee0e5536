//! Counts by function and source line with nested inlined functions, as compilers read them in several formats.

use std::collections::BTreeMap;

use super::ranges;
use crate::counts::{Place, Profile};
use crate::program::Program;
use tracewright_flow::hash::HashMap;

/// Counts of all functions that ran and have debug information.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// Functions by linkage name.
    pub functions: BTreeMap<String, Function>,
}

/// Counts of a function, or of a copy inlined somewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Number of entries by a branch.
    pub head: u64,
    /// Executed bytes of code, including inlined functions. llvm-profgen weighs functions this way.
    pub total: u64,
    /// Counts by source location.
    pub body: BTreeMap<Location, Body>,
    /// Inlined functions by location and name.
    pub inlined: BTreeMap<Location, BTreeMap<String, Function>>,
}

/// Source location relative to its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// Lines after that of the declaration, modulo 2^16.
    pub offset: u32,
    /// Part of the line.
    pub discriminator: u32,
}

/// Counts of a source location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// Runs of the most frequent instruction.
    pub count: u64,
    /// Functions called from here, by name.
    pub targets: BTreeMap<String, u64>,
}

/// Encoding of discriminators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discriminators {
    /// GCC: plain numbers.
    Plain,
    /// clang: a number for the part, a duplication factor, and the number of the copy.
    Clang,
}

impl Discriminators {
    fn part(self, of: u32) -> u32 {
        match self {
            Self::Plain => of & 0xffff,
            Self::Clang => clang_number(of),
        }
    }

    /// Returns the duplication factor: one run of the instruction stands for so many.
    fn copies(self, of: u32) -> u64 {
        if self == Self::Plain {
            return 1;
        }
        let next = match (of & 1, of & 0x40) {
            (0, 0) => of >> 7,
            (0, _) => of >> 14,
            _ => of >> 1,
        };
        clang_number(next).max(1).into()
    }
}

/// Decodes the first number of a clang discriminator: 0 if bit 0 is set; else 5 bits, or 12 if bit 6 is set.
fn clang_number(of: u32) -> u32 {
    let number = of >> 1;
    match (of & 1, number & 0x20) {
        (0, 0) => number & 0x1f,
        (0, _) => (number >> 1) & 0xfe0 | number & 0x1f,
        _ => 0,
    }
}

/// Path from a function to an inlined one: names and locations, the outermost first. The last location is the instruction's.
pub(super) type Path<'p> = Vec<(&'p str, Location)>;

impl Samples {
    /// Computes the samples of a profile.
    pub fn new(profile: &Profile, program: &Program, discriminators: Discriminators) -> Self {
        let mut all = Self::default();
        // Number of runs and length of each instruction.
        let mut counts: HashMap<Place, (u64, u8)> = HashMap::default();
        for (code, runs) in profile.blocks.iter().filter(|(_, runs)| runs.all() > 0) {
            for instruction in program.instructions(code) {
                let place = Place { address: instruction.address, ..code.start };
                counts.entry(place).or_insert((0, instruction.len)).0 += runs.all();
            }
        }
        // Code that did not run is included for functions that ran: that it is cold is useful to know.
        for function in ranges::functions(profile, program) {
            for instruction in program.instructions(&function) {
                let place = Place { address: instruction.address, ..function.start };
                counts.entry(place).or_insert((0, instruction.len));
            }
        }
        for (&place, &(count, len)) in &counts {
            let (path, copies) = path(program, place, discriminators);
            if let Some((function, location)) = all.at(&path, count.saturating_mul(len.into())) {
                let count = count.saturating_mul(copies);
                let body = function.body.entry(location).or_default();
                body.count = body.count.max(count);
            }
        }
        for (&(from, to), &count) in &profile.branches {
            let is_entry = program.symbol(to).is_some_and(|symbol| symbol.start == to.address);
            let frames = if is_entry { program.frames(to) } else { Vec::new() };
            let Some(name) = frames.last().and_then(|frame| frame.linkage) else { continue };
            let (path, _) = path(program, from, discriminators);
            if let Some((function, location)) = all.at(&path, 0) {
                let targets = &mut function.body.entry(location).or_default().targets;
                *targets.entry(name.to_owned()).or_default() += count;
            }
            all.functions.entry(name.to_owned()).or_default().head += count;
        }
        all
    }

    /// Numbers, in alphabetical order, the names of all functions, callees and inlined functions, and `more`.
    pub(super) fn names<'s>(&'s self, more: impl IntoIterator<Item = &'s str>) -> BTreeMap<&'s str, u32> {
        fn gather<'s>(names: &mut BTreeMap<&'s str, u32>, name: &'s str, function: &'s Function) {
            let targets = function.body.values().flat_map(|body| body.targets.keys());
            names.extend(targets.map(String::as_str).chain([name]).map(|name| (name, 0)));
            for (name, callee) in function.inlined.values().flatten() {
                gather(names, name, callee);
            }
        }
        let mut names = more.into_iter().map(|name| (name, 0)).collect();
        self.functions.iter().for_each(|(name, function)| gather(&mut names, name, function));
        (0..).zip(names.values_mut()).for_each(|(number, slot)| *slot = number);
        names
    }

    /// Adds `count` to the totals along a path. Returns its innermost function and the location there.
    fn at(&mut self, path: &Path<'_>, count: u64) -> Option<(&mut Function, Location)> {
        let (&(first, mut location), rest) = path.split_first()?;
        let mut function = self.functions.entry(first.to_owned()).or_default();
        function.total += count;
        for (name, next) in rest {
            let callees = function.inlined.entry(location).or_default();
            function = callees.entry((*name).to_owned()).or_default();
            function.total += count;
            location = *next;
        }
        Some((function, location))
    }
}

/// Returns the path at a place and its duplication factor.
pub(super) fn path(program: &Program, place: Place, discriminators: Discriminators) -> (Path<'_>, u64) {
    let frames = program.frames(place);
    let copies = frames.first().map_or(1, |frame| discriminators.copies(frame.discriminator));
    let mut path = Path::with_capacity(frames.len());
    for frame in frames.iter().rev() {
        let Some(name) = frame.linkage else { break };
        let line = frame.line.map_or(0, |line| line.line);
        let offset = line.wrapping_sub(frame.declared) & 0xffff;
        path.push((name, Location { offset, discriminator: discriminators.part(frame.discriminator) }));
    }
    (path, copies)
}

/// Shares of the total count, in millionths, that the summary lists.
const CUTOFFS: [u32; 16] = [
    10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, 950_000,
    990_000, 999_000, 999_900, 999_990, 999_999,
];

/// Distribution of the counts of samples, by which compilers decide what is hot or cold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    /// Sum of all counts.
    pub total: u64,
    /// Largest count.
    pub most: u64,
    /// Largest number of entries of a function.
    pub most_entered: u64,
    /// Number of counts.
    pub counts: u64,
    /// Number of functions.
    pub functions: u64,
    /// For each share: the smallest count needed to reach it, and how many counts are at least that large.
    pub shares: Vec<(u32, u64, u64)>,
}

impl Summary {
    pub fn of(samples: &Samples) -> Self {
        let mut counts = Vec::new();
        samples.functions.values().for_each(|function| collect(function, &mut counts));
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let total: u64 = counts.iter().sum();
        let (mut sum, mut at) = (0, 0);
        let mut shares = Vec::with_capacity(CUTOFFS.len());
        for cutoff in CUTOFFS {
            let wanted = (u128::from(total) * u128::from(cutoff) / 1_000_000) as u64;
            while sum < wanted && at < counts.len() {
                // Equal counts go together.
                let count = counts[at];
                while at < counts.len() && counts[at] == count {
                    sum += count;
                    at += 1;
                }
            }
            let least = at.checked_sub(1).map_or(0, |last| counts[last]);
            shares.push((cutoff, least, at as u64));
        }
        Self {
            total,
            most: counts.first().copied().unwrap_or(0),
            most_entered: samples.functions.values().map(|function| function.head).max().unwrap_or(0),
            counts: counts.len() as u64,
            functions: samples.functions.len() as u64,
            shares,
        }
    }

    /// Returns the numbers before the shares and the number of shares, as all formats have them.
    pub fn head(&self) -> [u64; 6] {
        let shares = self.shares.len() as u64;
        [self.total, self.most, self.most_entered, self.counts, self.functions, shares]
    }
}

fn collect(function: &Function, counts: &mut Vec<u64>) {
    counts.extend(function.body.values().map(|body| body.count));
    function.inlined.values().flat_map(BTreeMap::values).for_each(|callee| collect(callee, counts));
}
