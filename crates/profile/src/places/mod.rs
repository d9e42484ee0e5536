//! Filter by function, address range or binary.

mod names;

use std::ops::Range;

use crate::counts::{Code, Place, Profile, Runs};
use crate::functions::{Function, FunctionKey, Functions};
use crate::program::Program;
use tracewright_flow::hash::HashSet;

pub use self::names::{PlaceError, PlaceNames, binaries, is_called};

/// Address range of a binary, or of all binaries if given as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Number of the binary.
    pub binary: Option<u32>,
    /// Link-time addresses.
    pub addresses: Range<u64>,
}

/// Filter of places. A place passes if it passes each filter that is not `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceFilter {
    /// Accepts these binaries.
    pub binaries: Option<Vec<u32>>,
    /// Accepts these functions.
    pub functions: Option<Vec<Span>>,
    /// Accepts these ranges.
    pub ranges: Option<Vec<Span>>,
    /// Also accepts these functions where they are inlined, besides `functions`.
    pub inlined: HashSet<FunctionKey>,
}

impl Span {
    fn has(&self, place: Place) -> bool {
        self.binary.is_none_or(|binary| binary == place.binary) && self.addresses.contains(&place.address)
    }

    fn meets(&self, binary: u32, addresses: &Range<u64>) -> bool {
        self.binary.is_none_or(|number| number == binary)
            && self.addresses.start < addresses.end
            && addresses.start < self.addresses.end
    }
}

impl PlaceFilter {
    /// Returns whether a place passes. Inlined functions do not count: they are parts of the functions around them.
    pub fn has(&self, place: Place) -> bool {
        self.passes(place.binary, |span| span.has(place))
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

    /// Returns whether code passes that begins at a place, in functions inlined there.
    pub fn has_inlined(&self, start: Place, chain: &[u32], functions: &Functions) -> bool {
        let is_asked = |number: &u32| {
            functions.list().get(*number as usize).is_some_and(|it| self.inlined.contains(&it.key()))
        };
        let is_there = |spans: &Vec<Span>| spans.iter().any(|span| span.has(start));
        chain.iter().any(is_asked) && self.is_of(start.binary) && self.ranges.as_ref().is_none_or(is_there)
    }

    /// Adds functions that ran inlined and have this name, mangled or not. Returns whether there are any.
    pub fn add_inlined(&mut self, profile: &Profile, program: &Program, name: &str) -> bool {
        let mut functions = Functions::default();
        for code in profile.blocks.keys() {
            functions.divide_code(program, code);
        }
        let found = functions.inlined_named(name);
        self.inlined.extend(found.iter().map(|&number| functions.list()[number as usize].key()));
        !found.is_empty()
    }

    /// Keeps what passes of a profile. Of blocks that do not begin at such a place, the parts are kept that belong to
    /// functions inlined there.
    pub fn keep(&self, profile: &mut Profile, program: &Program) {
        let mut functions = Functions::default();
        let mut wanted: HashSet<Place> = HashSet::default();
        let blocks = std::mem::take(&mut profile.blocks);
        for (code, runs) in blocks {
            if self.has(code.start) {
                *profile.blocks.entry(code).or_default() += runs;
                wanted.insert(code.last());
            } else if !self.inlined.is_empty() {
                let divided = functions.divide_code(program, &code);
                for (range, chain) in functions.parts(divided, code.count) {
                    let Some(part) = part(program, &code, &range) else { continue };
                    if self.has_inlined(part.start, chain, &functions) {
                        let is_end = part.end() == code.end();
                        let runs =
                            if is_end { runs } else { Runs { through: runs.all(), ..Runs::default() } };
                        *profile.blocks.entry(part).or_default() += runs;
                        wanted.insert(part.last());
                    }
                }
            }
        }
        let is_wanted = |from: &Place| self.has(*from) || wanted.contains(from);
        profile.branches.retain(|(from, _), _| is_wanted(from));
    }

    /// Returns the functions that have executed code at accepted places. If no functions are asked for, these include the
    /// functions that are inlined there.
    pub fn functions_of(&self, profile: &Profile, program: &Program) -> HashSet<FunctionKey> {
        let mut functions = Functions::default();
        let mut numbers = HashSet::default();
        for code in profile.blocks.keys() {
            let is_there = self.has(code.start);
            if is_there {
                numbers.insert(functions.of(profile, program, code.start));
            }
            let divided = functions.divide_code(program, code);
            if divided == 0 || !(is_there && self.functions.is_none() || !self.inlined.is_empty()) {
                continue;
            }
            for (range, chain) in functions.parts(divided, code.count) {
                let start = || part(program, code, &range).map_or(code.start, |part| part.start);
                if is_there && self.functions.is_none() {
                    numbers.extend(chain.last());
                } else if self.has_inlined(start(), chain, &functions) {
                    let is_asked =
                        |number: &&u32| self.inlined.contains(&functions.list()[**number as usize].key());
                    numbers.extend(chain.iter().filter(is_asked));
                }
            }
        }
        let of = |number: &u32| functions.list().get(*number as usize);
        numbers.iter().filter_map(of).map(Function::key).collect()
    }
}

/// Returns a part of a block, given by the numbers of its instructions.
fn part(program: &Program, code: &Code, range: &Range<u32>) -> Option<Code> {
    let mut instructions = program.instructions(code).skip(range.start as usize).take(range.len());
    let first = instructions.next()?;
    let last = instructions.last().unwrap_or(first);
    let start = Place { address: first.address, ..code.start };
    let len = last.address.wrapping_add(last.len.into()).wrapping_sub(first.address) as u32;
    Some(Code { start, len, count: range.len() as u32, isa: code.isa, last_len: last.len, class: last.class })
}
