//! Filter by function, address range or binary.

mod names;

use std::ops::Range;

use tracewright_core::{Block, Ended, MemorySpace};
use tracewright_flow::Instructions;
use tracewright_flow::hash::HashSet;
use tracewright_image::{Frame, Image};

use crate::by_address::ByAddress;
use crate::counts::{Code, Place, Profile, Runs};
use crate::functions::{Function, FunctionKey, Functions};
use crate::program::Program;

pub use self::names::{PlaceError, PlaceNames, binaries, is_called};

/// Address range of a binary, or of all binaries if given as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Number of the binary.
    pub binary: Option<u32>,
    /// Link-time addresses.
    pub addresses: Range<u64>,
}

/// Filter of places. An instruction passes if its place passes each filter that is not `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceFilter {
    /// Accepts these binaries.
    pub binaries: Option<Vec<u32>>,
    /// Accepts these functions, with what is inlined into them.
    pub functions: Option<Vec<Span>>,
    /// Accepts these ranges.
    pub ranges: Option<Vec<Span>>,
    /// Also accepts functions of these names where they are inlined, besides `functions`.
    pub inlined: Vec<String>,
}

impl Span {
    fn has(&self, place: Place) -> bool {
        self.binary.is_none_or(|binary| binary == place.binary) && self.addresses.contains(&place.address)
    }

    fn contains(&self, binary: u32, addresses: &Range<u64>) -> bool {
        self.binary.is_none_or(|number| number == binary)
            && self.addresses.start <= addresses.start
            && addresses.end <= self.addresses.end
            && addresses.start < addresses.end
    }

    fn meets(&self, binary: u32, addresses: &Range<u64>) -> bool {
        self.binary.is_none_or(|number| number == binary)
            && self.addresses.start < addresses.end
            && addresses.start < self.addresses.end
    }
}

impl PlaceFilter {
    /// Returns whether an address passes. Functions that are inlined there do not count: see [`has_in`](Self::has_in).
    pub fn has(&self, place: Place) -> bool {
        self.passes(place.binary, |span| span.has(place))
    }

    /// Returns whether an instruction passes: by its address, or by a function that is inlined there.
    pub fn has_in(&self, program: &Program, place: Place) -> bool {
        self.has(place) || self.has_inlined(program, place)
    }

    /// Returns whether some of these addresses may pass.
    pub fn meets(&self, binary: u32, addresses: &Range<u64>) -> bool {
        self.passes(binary, |span| span.meets(binary, addresses))
    }

    fn passes(&self, binary: u32, is_it: impl Fn(&Span) -> bool) -> bool {
        self.is_of(binary)
            && [&self.functions, &self.ranges].into_iter().flatten().all(|spans| spans.iter().any(&is_it))
    }

    fn is_of(&self, binary: u32) -> bool {
        self.binaries.as_ref().is_none_or(|binaries| binaries.contains(&binary))
    }

    fn has_inlined(&self, program: &Program, place: Place) -> bool {
        if self.inlined.is_empty() || !self.is_of(place.binary) {
            return false;
        }
        let is_in_range = |spans: &Vec<Span>| spans.iter().any(|span| span.has(place));
        let is_asked = |frame: &Frame<'_>| self.inlined.iter().any(|name| frame.is_called(name));
        self.ranges.as_ref().is_none_or(is_in_range) && program.inlined_frames(place).iter().any(is_asked)
    }

    /// Returns which instructions of a block pass: their numbers, in order. `place` is where the block begins. If the block cannot
    /// be read, its start decides.
    fn parts(
        &self,
        program: &Program,
        place: Place,
        (image, space): (&Image, MemorySpace),
        block: &Block,
    ) -> Vec<Range<u32>> {
        let whole = place.address..place.plus(block.end.wrapping_sub(block.start)).address;
        if self.passes(place.binary, |span| span.contains(place.binary, &whole)) {
            return std::iter::once(0..block.count).collect();
        }
        if self.inlined.is_empty() && !self.meets(place.binary, &whole) {
            return Vec::new();
        }
        let mut parts: Vec<Range<u32>> = Vec::new();
        let mut read = 0;
        for (number, at) in (0..block.count).zip(Instructions::new(image, space, block)) {
            read = number + 1;
            if self.has_in(program, place.plus(at.address.wrapping_sub(block.start))) {
                match parts.last_mut() {
                    Some(last) if last.end == number => last.end = number + 1,
                    _ => parts.push(number..number + 1),
                }
            }
        }
        if read == 0 && self.has(place) {
            parts.push(0..block.count);
        }
        parts
    }

    /// Returns which instructions of a block of a profile pass: their numbers, in order.
    pub fn parts_of(&self, program: &Program, code: &Code) -> Vec<Range<u32>> {
        let space = program.space(code.start.binary);
        self.parts(program, code.start, (program.image(), space), &code.block(Ended::Cut))
    }

    /// Keeps the instructions of a profile that pass: blocks are cut. A branch is kept if it passes.
    pub fn keep(&self, profile: &mut Profile, program: &Program) {
        for (code, runs) in std::mem::take(&mut profile.blocks) {
            for range in self.parts_of(program, &code) {
                let Some(part) = part(program, &code, &range) else { continue };
                let is_end = range.end == code.count;
                let runs = if is_end { runs } else { Runs { through: runs.all(), ..Runs::default() } };
                *profile.blocks.entry(part).or_default() += runs;
            }
        }
        profile.branches.retain(|(from, _), _| self.has_in(program, *from));
    }

    /// Returns the functions of which an instruction that passes ran, inlined ones where `program` shows them.
    pub fn functions_of(&self, profile: &Profile, program: &Program) -> HashSet<FunctionKey> {
        let mut functions = Functions::default();
        let mut numbers = HashSet::default();
        for code in profile.blocks.keys() {
            let there = self.parts_of(program, code);
            if there.is_empty() {
                continue;
            }
            let function = functions.of(profile, program, code.start);
            let divided = functions.divide_code(program, code);
            for (range, chain) in functions.parts(divided, code.count) {
                if there.iter().any(|there| there.start < range.end && range.start < there.end) {
                    numbers.insert(*chain.last().unwrap_or(&function));
                }
            }
        }
        let of = |number: &u32| functions.list().get(*number as usize);
        numbers.iter().filter_map(of).map(Function::key).collect()
    }
}

/// Finds which instructions of blocks pass a filter. Each block is looked at once.
#[derive(Clone, Debug, Default)]
pub struct PlaceParts {
    /// Index in `parts` and number of instructions looked at, by start of the block.
    known: ByAddress<(u32, u32)>,
    parts: Vec<Box<[Range<u32>]>>,
}

impl PlaceParts {
    /// Returns the numbers of the instructions of a block of `image` that pass, in order.
    pub fn of(
        &mut self,
        filter: &PlaceFilter,
        program: &Program,
        (image, space): (&Image, MemorySpace),
        block: &Block,
    ) -> impl Iterator<Item = Range<u32>> {
        let index = match self.known.get(block.start, space) {
            Some((index, count)) if block.count <= count => index,
            _ => {
                let place = program.place(image, block.start, space);
                let index = self.parts.len() as u32;
                self.parts.push(filter.parts(program, place, (image, space), block).into());
                self.known.insert(block.start, space, (index, block.count));
                index
            }
        };
        let count = block.count;
        let parts = self.parts[index as usize].iter();
        parts.map(move |part| part.start..part.end.min(count)).filter(|part| !part.is_empty())
    }
}

/// Returns a part of a block, given by the numbers of its instructions.
fn part(program: &Program, code: &Code, range: &Range<u32>) -> Option<Code> {
    if *range == (0..code.count) {
        return Some(*code);
    }
    let mut instructions = program.instructions(code).skip(range.start as usize).take(range.len());
    let first = instructions.next()?;
    let last = instructions.last().unwrap_or(first);
    let start = Place { address: first.address, ..code.start };
    let len = last.address.wrapping_add(last.len.into()).wrapping_sub(first.address) as u32;
    Some(Code { start, len, count: range.len() as u32, isa: code.isa, last_len: last.len, class: last.class })
}
