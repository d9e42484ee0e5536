use super::options::{Commits, Options};
use super::random::Random;

/// The P0 elements that are still speculative for a decoder, and when that changes.
#[derive(Clone, Debug)]
pub(super) struct Speculation {
    max: u32,
    /// Number of uncommitted P0 elements.
    depth: u32,
    commits: Commits,
    commits_random: Random,
    mispredicts: Option<Random>,
}

/// The way in which an atom is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// As it is.
    Right,
    /// As it is, then this many atoms that did not happen, which are cancelled.
    ThenCancel(u32),
    /// Wrong, then this many atoms that did not happen. Those are cancelled, and the first is corrected.
    Mispredict(u32),
    /// Wrong, in the packet that corrects it.
    InOne,
}

impl Speculation {
    pub(super) fn new(max: u32, options: &Options) -> Self {
        let seed = if let Commits::Random(seed) = options.commits { seed } else { 0 };
        Self {
            max,
            depth: 0,
            commits: options.commits,
            commits_random: Random::new(seed),
            mispredicts: options.mispredict.filter(|_| max > 0).map(Random::new),
        }
    }

    #[inline]
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns how many elements to commit before the next P0 element.
    #[inline]
    pub(super) fn due(&mut self) -> u32 {
        if self.max == 0 {
            return 0;
        }
        match self.commits {
            Commits::AtMaxSpec if self.depth == self.max => self.depth,
            Commits::AtMaxSpec | Commits::Implicit => 0,
            Commits::Random(_) if self.depth > 0 && self.commits_random.below(8) == 0 => {
                1 + self.commits_random.below(self.depth)
            }
            Commits::Random(_) => 0,
        }
    }

    /// Returns how many elements a cycle count commits.
    pub(super) fn with_cycle_count(&mut self) -> u32 {
        match self.commits {
            Commits::AtMaxSpec => self.depth,
            Commits::Implicit => 0,
            Commits::Random(_) => self.commits_random.below(self.depth + 1),
        }
    }

    /// Counts a P0 element. One too many commits the oldest.
    #[inline]
    pub(super) fn p0(&mut self) {
        self.depth = (self.depth + 1).min(self.max);
    }

    /// Forgets all uncommitted elements.
    pub(super) fn abandon(&mut self) {
        self.depth = 0;
    }

    pub(super) fn commit(&mut self, count: u32) {
        self.depth -= count;
    }

    /// Chooses how to emit the next atom, within the maximum speculation depth.
    #[inline]
    pub(super) fn plan(&mut self) -> Plan {
        let room = self.max - self.depth;
        let Some(random) = &mut self.mispredicts else { return Plan::Right };
        if room == 0 || random.below(5) != 0 {
            return Plan::Right;
        }
        let extra = random.below(room.min(8));
        match random.below(4) {
            0 => Plan::ThenCancel(extra),
            1 => Plan::InOne,
            _ => Plan::Mispredict(extra),
        }
    }

    /// Returns a random number for mispredicted atoms.
    pub(super) fn whim(&mut self, below: u32) -> u32 {
        self.mispredicts.as_mut().map_or(0, |random| random.below(below))
    }
}
