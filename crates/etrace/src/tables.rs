//! Tables that encoder and decoder keep in the same state.

use std::collections::VecDeque;

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

/// Call stack shared by encoder and decoder.
///
/// With a return stack it holds addresses. With only a call counter, the encoder counts calls and the decoder
/// keeps the addresses. With both (draft 2.0.5), an entry counts calls that return to the same address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnStack {
    /// Return addresses, the newest last, each with the number of repeats.
    entries: VecDeque<(u64, u32)>,
    most: usize,
    most_repeats: u32,
}

impl ReturnStack {
    /// Creates an empty stack, as after a synchronisation packet.
    pub fn new(params: &Params) -> Self {
        let (most, most_repeats) = params.calls();
        Self { entries: VecDeque::new(), most, most_repeats }
    }

    /// Discards all calls.
    pub fn reset(&mut self) {
        self.entries.clear();
    }

    /// Returns the number of entries.
    #[inline]
    pub fn depth(&self) -> usize {
        self.entries.len()
    }

    /// Records a call that returns to `link`. A full stack discards its oldest entry.
    #[inline]
    pub fn push(&mut self, link: u64) {
        if let Some(top) = self.entries.back_mut()
            && top.0 == link
            && top.1 < self.most_repeats
        {
            top.1 += 1;
            return;
        }
        if self.most == 0 {
            return;
        }
        if self.entries.len() == self.most {
            self.entries.pop_front();
        }
        self.entries.push_back((link, 0));
    }

    /// Records a return. Returns its target, if the stack has one.
    #[inline]
    pub fn pop(&mut self) -> Option<u64> {
        let top = self.entries.back_mut()?;
        let link = top.0;
        if top.1 > 0 {
            top.1 -= 1;
        } else {
            self.entries.pop_back();
        }
        Some(link)
    }

    /// Returns the target of the next return.
    #[inline]
    pub fn top(&self) -> Option<u64> {
        self.entries.back().map(|&(link, _)| link)
    }
}
