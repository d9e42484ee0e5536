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
        let index = self.index(address);
        let entry = self.entries[index];
        let foretells = if (entry & TAKEN != 0) == (entry & LAST != 0) { entry & TAKEN != 0 } else { taken };
        self.entries[index] = if foretells { TAKEN } else { 0 } | if taken { LAST } else { 0 };
    }

    #[inline]
    fn index(&self, address: u64) -> usize {
        (address >> self.shift) as usize & (self.entries.len() - 1)
    }
}
