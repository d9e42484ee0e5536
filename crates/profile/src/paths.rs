//! f(b|p): how often branches are taken, given the branches just before them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use tracewright_core::{Element, Ended, MemorySpace};

use crate::by_address::ByAddress;
use crate::counts::Place;

/// A branch and whether it was taken: twice its number, and one more if it was.
type Outcome = u32;

/// Follows conditional branches in order.
///
/// Two things are kept. For each branch and each path, that is the last `width` conditional branches with their outcomes: how often it was
/// taken then. And for each branch and each other one among the last `width`: how often each pair of outcomes was seen. Both tables have a
/// limit; what does not fit is counted.
#[derive(Clone, Debug)]
pub struct Paths {
    width: usize,
    branches: Vec<Place>,
    numbers: HashMap<Place, u32>,
    known: ByAddress<u32>,
    /// The last outcomes, the oldest first.
    history: VecDeque<Outcome>,
    paths: HashMap<(u32, u64), Path>,
    pairs: HashMap<(u32, u32), [[u64; 2]; 2]>,
    dropped: u64,
}

#[derive(Clone, Debug)]
struct Path {
    outcomes: Box<[Outcome]>,
    /// Not taken, taken.
    runs: [u64; 2],
}

/// A branch, by the paths that lead to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditioned {
    /// Where it is.
    pub place: Place,
    /// How often it ran after a path of full width.
    pub runs: u64,
    /// How often it was taken then.
    pub taken: u64,
    /// H(b): what a run of it tells, in bits: 0 if it always goes the same way, 1 if it goes both ways as often.
    pub entropy: f64,
    /// H(b|p): what it still tells to who knows the path. A path that was seen once explains nothing.
    pub given_path: f64,
    /// How many paths led to it.
    pub paths: u64,
}

/// Two branches, the second among the last before the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlated {
    /// The branch.
    pub place: Place,
    /// The one before it; of several runs of that, the last counts.
    pub with: Place,
    /// How often: the outcome of the one before, then that of the branch.
    pub counts: [[u64; 2]; 2],
    /// Information gain: how many bits less the branch tells, a run, to who knows the outcome of the one before.
    pub gain: f64,
}

impl Correlated {
    /// How often both ran.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }
}

/// A path and the branch after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotPath {
    /// Branches and whether they were taken, the oldest first.
    pub branches: Vec<(Place, bool)>,
    /// How often.
    pub runs: u64,
}

/// The longest paths.
pub const WIDEST: usize = 32;
/// No more of either kind are kept.
const MOST: usize = 1 << 18;

impl Paths {
    /// Over so many branches, 1 to [`WIDEST`].
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self {
            width: width.clamp(1, WIDEST),
            branches: Vec::new(),
            numbers: HashMap::new(),
            known: ByAddress::default(),
            history: VecDeque::new(),
            paths: HashMap::new(),
            pairs: HashMap::new(),
            dropped: 0,
        }
    }

    /// Takes the next element. `place` says which place an address is.
    pub fn take(
        &mut self,
        element: &Element,
        space: MemorySpace,
        place: impl FnOnce(u64, MemorySpace) -> Place,
    ) {
        match element {
            Element::Block(block) if block.class.conditional && block.class.is_branch() => {
                let taken = match block.ended {
                    Ended::Taken => true,
                    Ended::NotTaken => false,
                    Ended::Through | Ended::Cut => return,
                };
                let address = block.last();
                let branch = match self.known.get(address, space) {
                    Some(branch) => branch,
                    None => {
                        let branch = self.number(place(address, space));
                        self.known.insert(address, space, branch);
                        branch
                    }
                };
                self.branch(branch, taken);
            }
            // What comes next does not follow.
            Element::TraceOn(_)
            | Element::Gap { .. }
            | Element::Lost(_)
            | Element::Mismatch(_)
            | Element::NoCode { .. }
            | Element::UnknownPath { .. }
            | Element::Exception(_)
            | Element::ExceptionReturn => self.history.clear(),
            _ => {}
        }
    }

    fn number(&mut self, place: Place) -> u32 {
        *self.numbers.entry(place).or_insert_with(|| {
            self.branches.push(place);
            self.branches.len() as u32 - 1
        })
    }

    fn branch(&mut self, branch: u32, taken: bool) {
        if self.history.len() == self.width {
            // FNV-1a: of a quarter of a million paths, two have the same with a chance of one in 10^8.
            let hash = self.history.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &outcome| {
                (hash ^ u64::from(outcome)).wrapping_mul(0x0100_0000_01b3)
            });
            let (history, mut runs) = (&self.history, [0; 2]);
            runs[usize::from(taken)] = 1;
            self.dropped += u64::from(!add_path(&mut self.paths, (branch, hash), runs, || {
                history.iter().copied().collect()
            }));
            for (at, &outcome) in self.history.iter().enumerate() {
                let with = outcome >> 1;
                let is_last = self.history.iter().skip(at + 1).all(|&later| later >> 1 != with);
                if is_last {
                    let mut counts = [[0; 2]; 2];
                    counts[(outcome & 1) as usize][usize::from(taken)] = 1;
                    self.dropped += u64::from(!add_pair(&mut self.pairs, (branch, with), &counts));
                }
            }
            self.history.pop_front();
        }
        self.history.push_back(branch << 1 | u32::from(taken));
    }

    /// Adds those of another source, of the same width.
    pub fn merge(&mut self, other: &Self) {
        let numbers: Vec<u32> = other.branches.iter().map(|&place| self.number(place)).collect();
        let here = |outcome: Outcome| numbers[(outcome >> 1) as usize] << 1 | outcome & 1;
        for (&(branch, _), path) in &other.paths {
            let outcomes: Box<[_]> = path.outcomes.iter().map(|&outcome| here(outcome)).collect();
            let hash = outcomes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &outcome| {
                (hash ^ u64::from(outcome)).wrapping_mul(0x0100_0000_01b3)
            });
            let key = (numbers[branch as usize], hash);
            self.dropped += u64::from(!add_path(&mut self.paths, key, path.runs, || outcomes));
        }
        for (&(branch, with), counts) in &other.pairs {
            let key = (numbers[branch as usize], numbers[with as usize]);
            self.dropped += u64::from(!add_pair(&mut self.pairs, key, counts));
        }
        self.dropped += other.dropped;
    }

    /// How many branches a path has.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// How often there was no room.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// f(b|p): each branch after each path.
    pub fn frequencies(&self) -> impl Iterator<Item = (Place, Vec<(Place, bool)>, [u64; 2])> {
        self.paths.iter().map(|(&(branch, _), path)| {
            let outcomes = path.outcomes.iter().map(|&outcome| self.outcome(outcome)).collect();
            (self.branches[branch as usize], outcomes, path.runs)
        })
    }

    fn outcome(&self, outcome: Outcome) -> (Place, bool) {
        (self.branches[(outcome >> 1) as usize], outcome & 1 == 1)
    }

    /// All branches; those that paths explain most of, in bits of all runs, come first.
    #[must_use]
    pub fn conditioned(&self) -> Vec<Conditioned> {
        let mut sums: HashMap<u32, ([u64; 2], u64)> = HashMap::new();
        for (&(branch, _), path) in &self.paths {
            let (runs, paths) = sums.entry(branch).or_default();
            *runs = [runs[0] + path.runs[0], runs[1] + path.runs[1]];
            *paths += 1;
        }
        let mut left: HashMap<u32, f64> = HashMap::new();
        for (&(branch, _), path) in &self.paths {
            let all = path.runs[0] + path.runs[1];
            let bits = if all == 1 { entropy(sums[&branch].0) } else { entropy(path.runs) };
            *left.entry(branch).or_default() += bits * all as f64;
        }
        let rows = sums.into_iter().map(|(branch, (counts, paths))| {
            let runs = counts[0] + counts[1];
            Conditioned {
                place: self.branches[branch as usize],
                runs,
                taken: counts[1],
                entropy: entropy(counts),
                // What was seen once may weigh more than it should.
                given_path: (left[&branch] / runs as f64).min(entropy(counts)),
                paths,
            }
        });
        let mut rows: Vec<_> = rows.collect();
        let explained = |row: &Conditioned| (row.entropy - row.given_path) * row.runs as f64;
        rows.sort_by(|a, b| explained(b).total_cmp(&explained(a)).then(a.place.cmp(&b.place)));
        rows
    }

    /// All pairs of branches of which one explains anything of the other; those where it is most, in bits of all runs, come first.
    #[must_use]
    pub fn correlated(&self) -> Vec<Correlated> {
        let rows = self.pairs.iter().filter_map(|(&(branch, with), &counts)| {
            let [a, b] = counts.map(|counts| (counts[0] + counts[1]) as f64);
            let before = entropy([counts[0][0] + counts[1][0], counts[0][1] + counts[1][1]]);
            let after = (entropy(counts[0]) * a + entropy(counts[1]) * b) / (a + b);
            let gain = before - after;
            let (place, with) = (self.branches[branch as usize], self.branches[with as usize]);
            (gain > 1e-9).then_some(Correlated { place, with, counts, gain })
        });
        let mut rows: Vec<_> = rows.collect();
        let bits = |row: &Correlated| row.gain * row.runs() as f64;
        rows.sort_by(|a, b| bits(b).total_cmp(&bits(a)).then((a.place, a.with).cmp(&(b.place, b.with))));
        rows
    }

    /// The `most` paths that ran most often, each with the branch after it.
    #[must_use]
    pub fn hot(&self, most: usize) -> Vec<HotPath> {
        let all = self.paths.iter().flat_map(|(&(branch, _), path)| {
            [0, 1].map(|taken| (path.runs[taken as usize], &path.outcomes, branch << 1 | taken))
        });
        let mut all: Vec<_> = all.filter(|(runs, ..)| *runs > 0).collect();
        all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
        all.truncate(most);
        all.into_iter()
            .map(|(runs, path, last)| HotPath {
                branches: path.iter().chain([&last]).map(|&outcome| self.outcome(outcome)).collect(),
                runs,
            })
            .collect()
    }
}

/// Whether there was room.
fn add_path(
    paths: &mut HashMap<(u32, u64), Path>,
    key: (u32, u64),
    runs: [u64; 2],
    outcomes: impl FnOnce() -> Box<[Outcome]>,
) -> bool {
    let is_full = paths.len() >= MOST;
    match paths.entry(key) {
        Entry::Occupied(mut known) => {
            let known = known.get_mut();
            known.runs = [known.runs[0] + runs[0], known.runs[1] + runs[1]];
        }
        Entry::Vacant(new) if !is_full => {
            new.insert(Path { outcomes: outcomes(), runs });
        }
        Entry::Vacant(_) => return false,
    }
    true
}

/// Whether there was room.
fn add_pair(pairs: &mut HashMap<(u32, u32), [[u64; 2]; 2]>, key: (u32, u32), counts: &[[u64; 2]; 2]) -> bool {
    if pairs.len() >= MOST && !pairs.contains_key(&key) {
        return false;
    }
    let known = pairs.entry(key).or_default();
    for (here, there) in known.iter_mut().flatten().zip(counts.iter().flatten()) {
        *here += there;
    }
    true
}

/// H, in bits, of what goes two ways so often.
fn entropy(counts: [u64; 2]) -> f64 {
    let all = (counts[0] + counts[1]) as f64;
    let part = |count: u64| match count {
        0 => 0.0,
        _ => -(count as f64 / all) * (count as f64 / all).log2(),
    };
    part(counts[0]) + part(counts[1])
}
