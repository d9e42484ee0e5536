use std::collections::VecDeque;

use crate::Params;

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
