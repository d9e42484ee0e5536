use crate::Params;

/// Branch predictor shared by encoder and decoder.
///
/// Each entry has two bits: the prediction and the last outcome. The prediction changes after two wrong
/// guesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predictor {
    entries: Vec<u8>,
    shift: u8,
}

const TAKEN: u8 = 2;
const LAST: u8 = 1;

/// Next state of an entry, indexed by the entry (upper bits) and the outcome (lowest bit).
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
    /// Creates a predictor in its state after a synchronisation packet.
    pub fn new(params: &Params) -> Self {
        Self { entries: vec![LAST; 1 << params.bpred_size], shift: params.iaddress_lsb }
    }

    /// Resets all entries, as a synchronisation packet does.
    pub fn reset(&mut self) {
        self.entries.fill(LAST);
    }

    /// Returns whether the branch at `address` is predicted to be taken.
    #[inline]
    pub fn foretells(&self, address: u64) -> bool {
        self.entries[self.index(address)] & TAKEN != 0
    }

    /// Records the outcome of the branch at `address`.
    #[inline]
    pub fn update(&mut self, address: u64, taken: bool) {
        self.learn(address, taken);
    }

    /// Records the outcome of the branch at `address`. Returns the prediction it had.
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
