//! f(b|p): how often branches are taken, given the branches just before them.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use tracewright_core::{Element, Ended, MemorySpace};
use tracewright_flow::hash::HashMap;

use crate::by_address::ByAddress;
use crate::clock::is_break;
use crate::counts::Place;

/// A branch and its outcome: twice the branch's number, plus 1 if taken.
type Outcome = u32;

/// Collects statistics of conditional branches.
///
/// A path is the last `width` conditional branches with their outcomes. `Paths` counts, for each branch and path, how
/// often the branch was taken; and for each branch and each of the `width` branches before it, how often each pair of
/// outcomes occurred. Both tables are limited in size; entries that do not fit are counted.
#[derive(Clone, Debug)]
pub struct Paths {
    width: usize,
    branches: Vec<Place>,
    numbers: HashMap<Place, u32>,
    known: ByAddress<u32>,
    /// Last outcomes, the oldest first.
    history: VecDeque<Outcome>,
    paths: HashMap<(u32, u64), Path>,
    pairs: HashMap<(u32, u32), [[u64; 2]; 2]>,
    dropped: u64,
}

#[derive(Clone, Debug)]
struct Path {
    outcomes: Box<[Outcome]>,
    /// Counts: not taken, taken.
    runs: [u64; 2],
}

/// A branch and how well the paths before it predict it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditioned {
    /// Address.
    pub place: Place,
    /// Number of runs after a path of full width.
    pub runs: u64,
    /// Number of these runs in which it was taken.
    pub taken: u64,
    /// H(b), the entropy of the outcome in bits: 0 if it is always the same, 1 if both are equally frequent.
    pub entropy: f64,
    /// H(b|p), the entropy given the path. A path that occurred once explains nothing.
    pub given_path: f64,
    /// Number of different paths to the branch.
    pub paths: u64,
}

/// A pair of branches, the second of which ran shortly before the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlated {
    /// The branch.
    pub place: Place,
    /// The earlier branch. Its last outcome counts.
    pub with: Place,
    /// Counts, indexed by the outcome of the earlier branch, then of the branch.
    pub counts: [[u64; 2]; 2],
    /// Information gain: by how many bits per run the earlier outcome reduces the entropy.
    pub gain: f64,
}

impl Correlated {
    /// Returns how often both ran.
    pub fn runs(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }
}

/// A path and the branch after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotPath {
    /// Branches and whether they were taken, the oldest first.
    pub branches: Vec<(Place, bool)>,
    /// Number of runs.
    pub runs: u64,
}

/// Maximum path width.
pub const WIDEST: usize = 32;
/// Maximum number of entries in each table.
const MOST: usize = 1 << 18;

impl Paths {
    /// Creates statistics over `width` branches, 1 to [`WIDEST`].
    pub fn new(width: usize) -> Self {
        Self {
            width: width.clamp(1, WIDEST),
            branches: Vec::new(),
            numbers: HashMap::default(),
            known: ByAddress::default(),
            history: VecDeque::new(),
            paths: HashMap::default(),
            pairs: HashMap::default(),
            dropped: 0,
        }
    }

    /// Takes the next element. `place` converts an address.
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
            Element::Exception(_) | Element::ExceptionReturn => self.history.clear(),
            _ if is_break(element) => self.history.clear(),
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
            let hash = hash(&self.history);
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

    /// Adds the statistics of another source, which must have the same width.
    pub fn merge(&mut self, other: &Self) {
        let numbers: Vec<u32> = other.branches.iter().map(|&place| self.number(place)).collect();
        let here = |outcome: Outcome| numbers[(outcome >> 1) as usize] << 1 | outcome & 1;
        for (&(branch, _), path) in &other.paths {
            let outcomes: Box<[_]> = path.outcomes.iter().map(|&outcome| here(outcome)).collect();
            let key = (numbers[branch as usize], hash(&outcomes));
            self.dropped += u64::from(!add_path(&mut self.paths, key, path.runs, || outcomes));
        }
        for (&(branch, with), counts) in &other.pairs {
            let key = (numbers[branch as usize], numbers[with as usize]);
            self.dropped += u64::from(!add_pair(&mut self.pairs, key, counts));
        }
        self.dropped += other.dropped;
    }

    /// Returns the path width.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns how many entries did not fit.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Iterates over f(b|p): each branch, path and its counts.
    pub fn frequencies(&self) -> impl Iterator<Item = (Place, Vec<(Place, bool)>, [u64; 2])> {
        self.paths.iter().map(|(&(branch, _), path)| {
            let outcomes = path.outcomes.iter().map(|&outcome| self.outcome(outcome)).collect();
            (self.branches[branch as usize], outcomes, path.runs)
        })
    }

    fn outcome(&self, outcome: Outcome) -> (Place, bool) {
        (self.branches[(outcome >> 1) as usize], outcome & 1 == 1)
    }

    /// Returns all branches by decreasing information gain of their paths over all runs.
    pub fn conditioned(&self) -> Vec<Conditioned> {
        let mut sums: HashMap<u32, ([u64; 2], u64)> = HashMap::default();
        for (&(branch, _), path) in &self.paths {
            let (runs, paths) = sums.entry(branch).or_default();
            *runs = [runs[0] + path.runs[0], runs[1] + path.runs[1]];
            *paths += 1;
        }
        let mut left: HashMap<u32, f64> = HashMap::default();
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
                // Rare paths may weigh too much.
                given_path: (left[&branch] / runs as f64).min(entropy(counts)),
                paths,
            }
        });
        let mut rows: Vec<_> = rows.collect();
        let explained = |row: &Conditioned| (row.entropy - row.given_path) * row.runs as f64;
        rows.sort_by(|a, b| explained(b).total_cmp(&explained(a)).then(a.place.cmp(&b.place)));
        rows
    }

    /// Returns all pairs with information gain, by decreasing gain over all runs.
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

    /// Returns the `most` most frequent paths, each with the branch after it.
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

/// Hashes a path (FNV-1a). Among 2^18 paths, the probability of a collision is below 10^-8.
fn hash<'o>(path: impl IntoIterator<Item = &'o Outcome>) -> u64 {
    let mix = |hash: u64, &outcome: &Outcome| (hash ^ u64::from(outcome)).wrapping_mul(0x0100_0000_01b3);
    path.into_iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Adds a path. Returns whether there was room.
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

/// Adds a pair. Returns whether there was room.
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

/// Returns the entropy, in bits, of two outcomes with these counts.
fn entropy(counts: [u64; 2]) -> f64 {
    let all = (counts[0] + counts[1]) as f64;
    let part = |count: u64| match count {
        0 => 0.0,
        _ => -(count as f64 / all) * (count as f64 / all).log2(),
    };
    part(counts[0]) + part(counts[1])
}
