use super::Quirks;
use crate::packet::BranchMap;
use crate::{Options, Params, Predictor};

/// Branches that no packet has reported yet.
#[derive(Clone, Debug)]
pub(super) struct Branches {
    /// Map of the first 31.
    pub(super) map: BranchMap,
    /// Number of correctly predicted branches.
    foretold: u64,
    /// Whether a mispredicted branch followed at least 31 correctly predicted ones.
    failed: bool,
    predictor: Option<Predictor>,
    /// Fewest branches that are sent as a count.
    least_count: u64,
}

/// Most branches that one packet can count.
const MOST_COUNT: u64 = 31 + u32::MAX as u64;

impl Branches {
    pub(super) fn new(params: &Params, options: &Options, quirks: &Quirks) -> Self {
        let is_predicting = options.branch_prediction && params.bpred_size > 0;
        Self {
            map: BranchMap::default(),
            foretold: 0,
            failed: false,
            predictor: is_predicting.then(|| Predictor::new(params)),
            least_count: if quirks.counts_from_32 { 32 } else { 31 },
        }
    }

    /// Records the outcome of the branch at `address`.
    #[inline(always)]
    pub(super) fn push(&mut self, address: u64, taken: bool) {
        let is_foretold = match &mut self.predictor {
            Some(predictor) => predictor.learn(address, taken) == taken,
            None => false,
        };
        self.foretold += u64::from(is_foretold);
        if !self.map.try_push(taken) {
            self.failed = !is_foretold;
        }
    }

    /// Records the outcome like [`push`](Self::push) if that makes no packet necessary. Otherwise does
    /// nothing and returns `false`.
    #[inline(always)]
    pub(super) fn push_silently(&mut self, address: u64, taken: bool) -> bool {
        if self.map.count() < 30 {
            self.push(address, taken);
            return true;
        }
        // Further predictions may be correct.
        match &mut self.predictor {
            Some(predictor)
                if self.foretold >= u64::from(self.map.count())
                    && self.foretold < MOST_COUNT - 2
                    && predictor.foretells(address) == taken =>
            {
                self.push(address, taken);
                true
            }
            _ => false,
        }
    }

    /// Records a branch that a synchronisation packet reports.
    #[inline]
    pub(super) fn synchronised(&mut self, address: u64, taken: bool) {
        if let Some(predictor) = &mut self.predictor {
            predictor.update(address, taken);
        }
    }

    /// Returns whether the branches must be reported now, without an address.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.map.is_full() && (self.foretold < 31 || self.failed)
    }

    /// Returns whether the branches must be reported now, with an address, because the count is at its limit.
    #[inline]
    pub(super) fn is_counted_out(&self) -> bool {
        self.foretold >= MOST_COUNT
    }

    /// Returns whether one more branch may bring the count to its limit.
    #[inline]
    pub(super) fn is_nearly_counted_out(&self) -> bool {
        self.foretold + 1 >= MOST_COUNT
    }

    /// Returns the number of correctly predicted branches, and whether one more was mispredicted, if they are
    /// reported as a count. Returns `None` if they are reported as a map.
    #[inline]
    pub(super) fn count(&self) -> Option<(u64, bool)> {
        let total = self.foretold + u64::from(self.failed);
        (self.foretold >= 31 && total >= self.least_count).then_some((self.foretold, self.failed))
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        (self.map, self.foretold, self.failed) = (BranchMap::default(), 0, false);
    }

    /// Resets for a synchronisation packet.
    pub(super) fn reset(&mut self) {
        self.clear();
        if let Some(predictor) = &mut self.predictor {
            predictor.reset();
        }
    }
}
