//! Direction prediction of conditional branches.

use super::Config;
use super::config::Predictor;

/// A direction predictor. It learns at once: the errors of hardware that learns later, in short loops, are not modelled.
#[derive(Clone, Debug)]
pub(super) struct Directions {
    kind: Predictor,
    /// Two-bit counters; 2 and 3 predict taken. Initially 1.
    counters: Box<[u8]>,
    /// Outcomes of the last branches, the latest in bit 0.
    history: u64,
    /// Mask of the history bits.
    history_mask: u64,
}

impl Directions {
    /// Creates an untrained predictor for a checked configuration.
    pub fn new(config: &Config) -> Self {
        let bits = if config.predictor == Predictor::Gshare { config.predictor_history } else { 0 };
        Self {
            kind: config.predictor,
            counters: vec![1; config.predictor_entries as usize].into(),
            history: 0,
            history_mask: (1 << bits) - 1,
        }
    }

    /// Returns whether the branch at `pc` was predicted taken, then learns its outcome.
    #[inline]
    pub fn branch(&mut self, pc: u64, backward: bool, taken: bool) -> bool {
        if self.kind == Predictor::Static {
            return backward;
        }
        // Instructions are at even addresses. Without history this is the bimodal predictor.
        let index = (pc >> 1 ^ self.history) as usize & (self.counters.len() - 1);
        let counter = &mut self.counters[index];
        let predicted = *counter >= 2;
        *counter = if taken { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
        self.history = (self.history << 1 | u64::from(taken)) & self.history_mask;
        predicted
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tracewright_testkit::Rng;

    use super::*;

    /// Naive predictor: counters by number, history as a list.
    struct Twin {
        counters: HashMap<u64, i32>,
        history: Vec<bool>,
    }

    impl Twin {
        fn branch(&mut self, entries: u64, bits: usize, pc: u64, taken: bool) -> bool {
            let recent = &self.history[self.history.len().saturating_sub(bits)..];
            let history = recent.iter().fold(0, |sum, &taken| sum * 2 + u64::from(taken));
            let counter = self.counters.entry(((pc / 2) ^ history) % entries).or_insert(1);
            let predicted = *counter > 1;
            *counter = (*counter + if taken { 1 } else { -1 }).clamp(0, 3);
            self.history.push(taken);
            predicted
        }
    }

    #[test]
    fn random_branches_as_the_naive_twin() {
        let mut rng = Rng::new(5);
        for round in 0..100 {
            let predictor = if round % 2 == 0 { Predictor::Bimodal } else { Predictor::Gshare };
            let entries = 1 << rng.below(9);
            let bits = rng.below(17) as u32;
            let config = Config {
                predictor,
                predictor_entries: entries,
                predictor_history: bits,
                ..Config::default()
            };
            let mut fast = Directions::new(&config);
            let mut twin = Twin { counters: HashMap::new(), history: Vec::new() };
            let bits = if predictor == Predictor::Gshare { bits as usize } else { 0 };
            for _ in 0..1_000 {
                let (pc, taken) = (rng.below(400) * 2, rng.one_in(3));
                assert_eq!(
                    fast.branch(pc, rng.one_in(2), taken),
                    twin.branch(entries.into(), bits, pc, taken)
                );
            }
        }
    }

    #[test]
    fn backward_taken_forward_not() {
        let mut predictor = Directions::new(&Config::tiny());
        assert!(predictor.branch(0, true, false));
        assert!(!predictor.branch(0, false, true));
    }

    #[test]
    fn gshare_learns_what_alternates_and_bimodal_does_not() {
        let wrong = |predictor| {
            let mut directions = Directions::new(&Config { predictor, ..Config::default() });
            (0..1_000).filter(|i| directions.branch(64, true, i % 2 == 0) != (i % 2 == 0)).count()
        };
        assert!(wrong(Predictor::Gshare) < 20);
        assert!(wrong(Predictor::Bimodal) >= 500);
    }
}
