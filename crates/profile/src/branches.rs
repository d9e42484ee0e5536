//! Branches: how often each was taken, and where to.

use std::collections::HashMap;

use tracewright_core::{Class, Flow, Isa, Role};

use crate::counts::{Place, Profile};

/// A branch, summed up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Where it is.
    pub place: Place,
    /// How many bytes it has.
    pub len: u8,
    /// Its instruction set.
    pub isa: Isa,
    /// What it can do.
    pub class: Class,
    /// How often it was taken.
    pub taken: u64,
    /// How often it was not.
    pub not_taken: u64,
    /// Where to, the most frequent first. After a gap it is not known where one went: there may be fewer than were taken.
    pub targets: Vec<(Place, u64)>,
}

impl Branch {
    /// How often it ran.
    #[must_use]
    pub const fn runs(&self) -> u64 {
        self.taken + self.not_taken
    }

    /// f(b): the part of the times that it was taken.
    #[must_use]
    pub fn frequency(&self) -> f64 {
        self.taken as f64 / self.runs().max(1) as f64
    }

    /// The times it went the way that it goes less often: what a fixed guess gets wrong.
    #[must_use]
    pub fn minority(&self) -> u64 {
        self.taken.min(self.not_taken)
    }

    /// Whether it calls what an address in a register says: a function pointer, a method.
    #[must_use]
    pub fn is_indirect_call(&self) -> bool {
        self.class.flow == Flow::Indirect && matches!(self.class.role, Role::Call | Role::Swap)
    }
}

/// All branches that ran, by their places.
#[must_use]
pub fn branches(profile: &Profile) -> Vec<Branch> {
    let mut all: HashMap<Place, Branch> = HashMap::new();
    for (code, runs) in profile.blocks.iter().filter(|(code, _)| code.class.is_branch()) {
        let new = || Branch {
            place: code.last(),
            len: code.last_len,
            isa: code.isa,
            class: code.class,
            taken: 0,
            not_taken: 0,
            targets: Vec::new(),
        };
        let branch = all.entry(code.last()).or_insert_with(new);
        branch.taken += runs.taken;
        branch.not_taken += runs.not_taken;
    }
    for (&(from, to), &count) in &profile.branches {
        if let Some(branch) = all.get_mut(&from) {
            branch.targets.push((to, count));
        }
    }
    let mut all: Vec<_> = all.into_values().collect();
    for branch in &mut all {
        branch.targets.sort_by_key(|&(to, count)| (std::cmp::Reverse(count), to));
    }
    all.sort_by_key(|branch| branch.place);
    all
}
