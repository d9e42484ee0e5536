//! Conditional and other branches: how often each was taken, and its targets.

use tracewright_core::{Class, Flow, Isa, Role};
use tracewright_flow::hash::HashMap;

use crate::counts::{Place, Profile};

/// A branch instruction with its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Address of the instruction.
    pub place: Place,
    /// Length of the instruction in bytes.
    pub len: u8,
    /// Instruction set.
    pub isa: Isa,
    /// Class of the instruction.
    pub class: Class,
    /// Number of times the branch was taken.
    pub taken: u64,
    /// Number of times the branch was not taken.
    pub not_taken: u64,
    /// Targets with their counts, the most frequent first. The target of a branch before a gap is not known, so the
    /// counts may add up to less than `taken`.
    pub targets: Vec<(Place, u64)>,
}

impl Branch {
    /// Returns how often the branch ran.
    pub const fn runs(&self) -> u64 {
        self.taken + self.not_taken
    }

    /// Returns how often the branch went its less frequent way, which is what a static prediction gets wrong.
    pub fn minority(&self) -> u64 {
        self.taken.min(self.not_taken)
    }

    /// Returns whether the branch calls through a register, as function pointers and virtual methods do.
    pub fn is_indirect_call(&self) -> bool {
        self.class.flow == Flow::Indirect && matches!(self.class.role, Role::Call | Role::Swap)
    }
}

/// Returns all branches that ran, sorted by place.
pub fn branches(profile: &Profile) -> Vec<Branch> {
    let mut all: HashMap<Place, Branch> = HashMap::default();
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
