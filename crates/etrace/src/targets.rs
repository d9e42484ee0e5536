use crate::Params;

/// The jump target cache that encoder and decoder both have: direct-mapped by the target's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JumpTargets {
    entries: Vec<Option<u64>>,
    shift: u8,
}

impl JumpTargets {
    /// As after a synchronisation packet.
    pub fn new(params: &Params) -> Self {
        Self { entries: vec![None; 1 << params.cache_size], shift: params.iaddress_lsb }
    }

    /// As after a synchronisation packet.
    pub fn reset(&mut self) {
        self.entries.fill(None);
    }

    /// The target with this index.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u64> {
        self.entries.get(index).copied().flatten()
    }

    /// The index of `address`, if that is in the cache.
    #[inline]
    pub fn find(&self, address: u64) -> Option<usize> {
        let index = self.index(address);
        (self.entries[index] == Some(address)).then_some(index)
    }

    /// Puts `address` into the cache.
    #[inline]
    pub fn insert(&mut self, address: u64) {
        let index = self.index(address);
        self.entries[index] = Some(address);
    }

    #[inline]
    fn index(&self, address: u64) -> usize {
        (address >> self.shift) as usize & (self.entries.len() - 1)
    }
}
