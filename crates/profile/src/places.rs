//! Which part of the binaries: what is asked for by function, range or binary.

use std::collections::HashSet;
use std::ops::Range;

use crate::counts::{Place, Profile};
use crate::functions::Functions;
use crate::program::Program;

/// Addresses of a binary; of all, if they are given as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The binary's number.
    pub binary: Option<u32>,
    /// The addresses that it was linked for.
    pub addresses: Range<u64>,
}

/// Places that are asked for: those that one of each kind has. What is `None` is not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// In one of these binaries.
    pub binaries: Option<Vec<u32>>,
    /// In one of these functions.
    pub functions: Option<Vec<Span>>,
    /// In one of these ranges.
    pub ranges: Option<Vec<Span>>,
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

impl Places {
    /// Whether a place is asked for.
    #[must_use]
    pub fn has(&self, place: Place) -> bool {
        let is_in = |spans: &Vec<Span>| spans.iter().any(|span| span.has(place));
        self.binaries.as_ref().is_none_or(|binaries| binaries.contains(&place.binary))
            && self.functions.as_ref().is_none_or(is_in)
            && self.ranges.as_ref().is_none_or(is_in)
    }

    /// Whether any of these addresses of a binary may be.
    #[must_use]
    pub fn meets(&self, binary: u32, addresses: &Range<u64>) -> bool {
        let meets = |spans: &Vec<Span>| spans.iter().any(|span| span.meets(binary, addresses));
        self.binaries.as_ref().is_none_or(|binaries| binaries.contains(&binary))
            && self.functions.as_ref().is_none_or(meets)
            && self.ranges.as_ref().is_none_or(meets)
    }

    /// The functions of which blocks ran that begin there: their files and starts, as [`Functions`] has them.
    #[must_use]
    pub fn functions_of(&self, profile: &Profile, program: &Program) -> HashSet<(Option<u32>, Option<u64>)> {
        let mut functions = Functions::default();
        let starts = profile.blocks.keys().map(|code| code.start).filter(|start| self.has(*start));
        let numbers: HashSet<_> = starts.map(|start| functions.of(profile, program, start)).collect();
        let of = |number: &u32| functions.list().get(*number as usize);
        numbers.iter().filter_map(of).map(|function| (function.file, function.start)).collect()
    }
}
