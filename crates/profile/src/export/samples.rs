//! Counts by function and source line with nested inlined functions, as compilers read them in several formats.

use std::collections::{BTreeMap, HashMap};

use super::ranges;
use crate::counts::{Place, Profile};
use crate::program::Program;

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
    /// Returns the part of the line.
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
type Path<'p> = Vec<(&'p str, Location)>;

impl Samples {
    /// Computes the samples of a profile.
    pub fn new(profile: &Profile, program: &Program, discriminators: Discriminators) -> Self {
        let mut all = Self::default();
        // Number of runs and length of each instruction.
        let mut counts: HashMap<Place, (u64, u8)> = HashMap::new();
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
fn path(program: &Program, place: Place, discriminators: Discriminators) -> (Path<'_>, u64) {
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
