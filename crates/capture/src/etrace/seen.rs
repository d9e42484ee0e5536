use std::collections::HashMap;

use tracewright_core::Block;

/// Code as it was executed. At the end of a run it may be gone, or lie behind a page table.
#[derive(Debug)]
pub struct Seen {
    /// The instructions of the block to come.
    bits: Vec<u32>,
    /// Half-words by address; `None` where the code changed.
    code: HashMap<u64, Option<u16>>,
    /// Start and end of blocks that were taken lately.
    quick: Vec<(u64, u64)>,
    /// The first address where the code changed, if any.
    pub changed: Option<u64>,
}

const QUICK: usize = 1 << 12;
/// Most half-words that are kept: bounds memory.
const MOST: usize = 1 << 24;

impl Seen {
    /// Returns an empty record.
    pub(crate) fn new() -> Self {
        Self { bits: Vec::new(), code: HashMap::new(), quick: vec![(0, 0); QUICK], changed: None }
    }

    /// Takes the next instructions of the block to come.
    #[inline]
    pub fn instructions(&mut self, bits: &[u32]) {
        self.bits.extend_from_slice(bits);
    }

    /// Takes a block that was executed.
    #[inline]
    pub fn block(&mut self, block: &Block) {
        let slot = (block.start >> 1 ^ block.start >> 12) as usize % QUICK;
        if self.quick[slot] != (block.start, block.end) {
            self.quick[slot] = (block.start, block.end);
            self.keep(block.start);
        }
        self.bits.clear();
    }

    #[cold]
    fn keep(&mut self, mut at: u64) {
        let block = std::mem::take(&mut self.bits);
        for &bits in &block {
            let halves = [bits as u16, (bits >> 16) as u16];
            for &half in &halves[..if bits & 3 == 3 { 2 } else { 1 }] {
                if self.code.len() < MOST {
                    self.add(at, Some(half));
                }
                at = at.wrapping_add(2);
            }
        }
        self.bits = block;
    }

    fn add(&mut self, at: u64, half: Option<u16>) {
        let known = self.code.entry(at).or_insert(half);
        if *known != half {
            *known = None;
            self.changed = Some(self.changed.map_or(at, |changed| changed.min(at)));
        }
    }

    /// Adds another record of the same memory.
    pub fn merge(&mut self, other: Self) {
        self.changed = self.changed.into_iter().chain(other.changed).min();
        if self.code.is_empty() {
            self.code = other.code;
            return;
        }
        for (at, half) in other.code {
            if self.code.len() < MOST {
                self.add(at, half);
            }
        }
    }

    /// Returns the code that was executed at an address, or what `otherwise` returns if none was. Code that changed is left out.
    pub fn halfword(&self, at: u64, otherwise: impl FnOnce(u64) -> Option<[u8; 2]>) -> Option<[u8; 2]> {
        match self.code.get(&at) {
            Some(half) => half.map(u16::to_le_bytes),
            None => otherwise(at),
        }
    }
}
