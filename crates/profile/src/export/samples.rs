//! Counts by function and source line, with inlined functions nested: what compilers read, in whatever form.

use std::collections::{BTreeMap, HashMap};

use super::ranges;
use crate::counts::{Place, Profile};
use crate::program::Program;

/// Counts of all functions of which something ran and that debug information tells of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// By the name for linkers.
    pub functions: BTreeMap<String, Function>,
}

/// Counts of a function, or of a copy of it inlined somewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// How often it was entered by a branch.
    pub head: u64,
    /// How many bytes of instructions of it ran, and of what is inlined into it: so llvm-profgen weighs functions.
    pub total: u64,
    /// By place in its source.
    pub body: BTreeMap<Location, Body>,
    /// What is inlined where, by name.
    pub inlined: BTreeMap<Location, BTreeMap<String, Function>>,
}

/// A place in the source of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// Lines after that of its declaration. Before it: less than 0, and 16 bits are left of that.
    pub offset: u32,
    /// Which part of the line.
    pub discriminator: u32,
}

/// What ran at a place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// How often: that of the instruction that ran most often.
    pub count: u64,
    /// Functions that were called from here, by name.
    pub targets: BTreeMap<String, u64>,
}

/// How compilers number the parts of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discriminators {
    /// One after another, as GCC does.
    Plain,
    /// As clang does: a number for the part, how many copies were made of the code, and which one it is.
    Clang,
}

impl Discriminators {
    /// The part of the line.
    fn part(self, of: u32) -> u32 {
        match self {
            Self::Plain => of & 0xffff,
            Self::Clang => clang_number(of),
        }
    }

    /// What of one instruction stands for how many, since the code was copied so often.
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

/// The first of the numbers that are packed into a discriminator of clang: bit 0 set is 0; else 5 bits, or 12 if bit 6 is set.
fn clang_number(of: u32) -> u32 {
    let number = of >> 1;
    match (of & 1, number & 0x20) {
        (0, 0) => number & 0x1f,
        (0, _) => (number >> 1) & 0xfe0 | number & 0x1f,
        _ => 0,
    }
}

/// A way from a function into what is inlined: names and places, the outermost first. The last place is that of the instruction.
type Path<'p> = Vec<(&'p str, Location)>;

impl Samples {
    /// The samples of a profile.
    #[must_use]
    pub fn new(profile: &Profile, program: &Program, discriminators: Discriminators) -> Self {
        let mut all = Self::default();
        // By instruction: how often it ran, and its length.
        let mut counts: HashMap<Place, (u64, u8)> = HashMap::new();
        for (code, runs) in profile.blocks.iter().filter(|(_, runs)| runs.all() > 0) {
            for instruction in program.instructions(code) {
                let place = Place { address: instruction.address, ..code.start };
                counts.entry(place).or_insert((0, instruction.len)).0 += runs.all();
            }
        }
        // What did not run of functions that did is told as well: that it is cold is worth knowing.
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

    /// The innermost function of a path, with so much added to all around it, and the place in it.
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

/// The functions at a place; and how many copies of the code there are.
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
