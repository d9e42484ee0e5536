use crate::Params;

/// The branch predictor that encoder and decoder both have.
///
/// Two bits for each entry: what it foretells, and the last outcome. It changes its mind after two wrong guesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predictor {
    entries: Vec<u8>,
    shift: u8,
}

const TAKEN: u8 = 2;
const LAST: u8 = 1;

/// The entry after an outcome, which is the lowest bit of the index: the others are the entry.
const AFTER: [u8; 8] = {
    let mut after = [0; 8];
    let mut at = 0;
    while at < 8 {
        let (entry, taken) = (at as u8 >> 1, at & 1 != 0);
        let is_settled = (entry & TAKEN != 0) == (entry & LAST != 0);
        let foretells = if is_settled { entry & TAKEN != 0 } else { taken };
        after[at] = if foretells { TAKEN } else { 0 } | if taken { LAST } else { 0 };
        at += 1;
    }
    after
};

impl Predictor {
    /// As after a synchronisation packet.
    pub fn new(params: &Params) -> Self {
        Self { entries: vec![LAST; 1 << params.bpred_size], shift: params.iaddress_lsb }
    }

    /// As after a synchronisation packet.
    pub fn reset(&mut self) {
        self.entries.fill(LAST);
    }

    /// Whether the branch at `address` will be taken.
    #[inline]
    pub fn foretells(&self, address: u64) -> bool {
        self.entries[self.index(address)] & TAKEN != 0
    }

    /// The branch at `address` was taken or not.
    #[inline]
    pub fn update(&mut self, address: u64, taken: bool) {
        self.learn(address, taken);
    }

    /// The branch at `address` was taken or not. Says what was foretold.
    #[inline(always)]
    pub fn learn(&mut self, address: u64, taken: bool) -> bool {
        let index = self.index(address);
        let entry = self.entries[index];
        self.entries[index] = AFTER[usize::from(entry << 1 | u8::from(taken)) & 7];
        entry & TAKEN != 0
    }

    #[inline]
    fn index(&self, address: u64) -> usize {
        (address >> self.shift) as usize & (self.entries.len() - 1)
    }
}
