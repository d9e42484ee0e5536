//! Filter by function, address range or binary.

use std::collections::HashSet;
use std::ops::Range;

use crate::counts::{Place, Profile};
use crate::functions::Functions;
use crate::program::Program;

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
    /// Returns whether a place passes.
    pub fn has(&self, place: Place) -> bool {
        self.passes(place.binary, |span| span.has(place))
    }

    /// Returns whether some of these addresses may pass.
    pub fn meets(&self, binary: u32, addresses: &Range<u64>) -> bool {
        self.passes(binary, |span| span.meets(binary, addresses))
    }

    fn passes(&self, binary: u32, is_it: impl Fn(&Span) -> bool) -> bool {
        self.binaries.as_ref().is_none_or(|binaries| binaries.contains(&binary))
            && [&self.functions, &self.ranges].into_iter().flatten().all(|spans| spans.iter().any(&is_it))
    }

    /// Returns the functions that have executed blocks beginning at accepted places, as file and start like in [`Functions`].
    pub fn functions_of(&self, profile: &Profile, program: &Program) -> HashSet<(Option<u32>, Option<u64>)> {
        let mut functions = Functions::default();
        let starts = profile.blocks.keys().map(|code| code.start).filter(|start| self.has(*start));
        let numbers: HashSet<_> = starts.map(|start| functions.of(profile, program, start)).collect();
        let of = |number: &u32| functions.list().get(*number as usize);
        numbers.iter().filter_map(of).map(|function| (function.file, function.start)).collect()
    }
}
