use crate::Params;

/// Jump target cache shared by encoder and decoder, direct-mapped by the target's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JumpTargets {
    entries: Vec<Option<u64>>,
    shift: u8,
}

impl JumpTargets {
    /// Creates an empty cache, as after a synchronisation packet.
    pub fn new(params: &Params) -> Self {
        Self { entries: vec![None; 1 << params.cache_size], shift: params.iaddress_lsb }
    }

    /// Empties the cache, as a synchronisation packet does.
    pub fn reset(&mut self) {
        self.entries.fill(None);
    }

    /// Returns the target with this index.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u64> {
        self.entries.get(index).copied().flatten()
    }

    /// Returns the index of `address` if the cache holds it.
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
