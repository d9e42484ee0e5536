use super::Quirks;
use crate::packet::BranchMap;
use crate::{Options, Params, Predictor};

/// Branches that were not told yet.
#[derive(Clone, Debug)]
pub(super) struct Branches {
    /// The first 31 of them.
    map: BranchMap,
    /// How many the predictor foretold.
    foretold: u64,
    /// After 31 that it foretold, one that it did not.
    failed: bool,
    predictor: Option<Predictor>,
    /// A count has at least this many.
    least_count: u64,
}

/// Of a packet, more cannot be counted.
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

    /// The branch at `address` was taken or not.
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

    /// As [`push`](Self::push), if nothing has to be told then; otherwise nothing is done.
    #[inline(always)]
    pub(super) fn push_silently(&mut self, address: u64, taken: bool) -> bool {
        if self.map.count() < 30 {
            self.push(address, taken);
            return true;
        }
        // The predictor may go on foretelling.
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

    /// The branch at `address` is told by a synchronisation packet.
    #[inline]
    pub(super) fn synchronised(&mut self, address: u64, taken: bool) {
        if let Some(predictor) = &mut self.predictor {
            predictor.update(address, taken);
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Whether they have to be told now, without an address.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.map.is_full() && (self.foretold < 31 || self.failed)
    }

    /// Whether they have to be told now, with an address: no more can be counted.
    #[inline]
    pub(super) fn is_counted_out(&self) -> bool {
        self.foretold >= MOST_COUNT
    }

    /// Whether one more may be the last that can be counted.
    #[inline]
    pub(super) fn is_nearly_counted_out(&self) -> bool {
        self.foretold + 1 >= MOST_COUNT
    }

    #[inline]
    pub(super) fn map(&self) -> BranchMap {
        self.map
    }

    /// How many were foretold, and whether the last one was not, if that is how they are told. `None`: by their
    /// map.
    #[inline]
    pub(super) fn count(&self) -> Option<(u64, bool)> {
        let total = self.foretold + u64::from(self.failed);
        (self.foretold >= 31 && total >= self.least_count).then_some((self.foretold, self.failed))
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        (self.map, self.foretold, self.failed) = (BranchMap::default(), 0, false);
    }

    /// For a synchronisation packet.
    pub(super) fn reset(&mut self) {
        self.clear();
        if let Some(predictor) = &mut self.predictor {
            predictor.reset();
        }
    }
}
