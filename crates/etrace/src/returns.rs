use std::collections::VecDeque;

use crate::Params;

/// The stack of calls that encoder and decoder both have: with a return stack, addresses; with a call counter only, their
/// number, and the decoder keeps the addresses.
///
/// Where there are both (draft 2.0.5), an entry counts calls that return to the same address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnStack {
    /// Where the calls return to, the newest last, and how often besides.
    entries: VecDeque<(u64, u32)>,
    most: usize,
    most_repeats: u32,
}

impl ReturnStack {
    /// As after a synchronisation packet: without any call.
    pub fn new(params: &Params) -> Self {
        let (most, most_repeats) = params.calls();
        Self { entries: VecDeque::new(), most, most_repeats }
    }

    /// Forgets all calls.
    pub fn reset(&mut self) {
        self.entries.clear();
    }

    /// How many entries there are.
    #[inline]
    pub fn depth(&self) -> usize {
        self.entries.len()
    }

    /// A call was made that returns to `link`. When there is no room, the oldest is forgotten.
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

    /// A return was made: where to, if the stack knows.
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

    /// Where a return would go.
    #[inline]
    pub fn top(&self) -> Option<u64> {
        self.entries.back().map(|&(link, _)| link)
    }
}
