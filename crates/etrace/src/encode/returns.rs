use super::Quirks;
use crate::{Options, Params, ReturnStack};

/// State of implicit returns: the open calls, and what a decoder must be told to find the right return.
#[derive(Clone, Debug)]
pub(super) struct Returns {
    stack: ReturnStack,
    is_on: bool,
    /// Whether return addresses are known, not only their number.
    knows_addresses: bool,
    /// Whether packets have `irets` instead of `irdepth`, for which calls do not matter.
    pub(super) counts: bool,
    /// Whether a return that did not go to its call leaves that call on the stack.
    keeps_failed: bool,
    /// Implicit returns since the last reported branch or address.
    pub(super) count: u32,
}

/// Kind of a return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Return {
    /// It went to its call, so nothing is reported.
    Implicit,
    /// It must be reported; packets carry this value if `irreport` is asserted.
    Uninferable(Option<u32>),
}

/// Largest value of `irets`, which has 8 bits.
const MOST_RETURNS: u32 = 255;

impl Returns {
    pub(super) fn new(params: &Params, options: &Options, quirks: &Quirks) -> Self {
        let (stack, counter) = (params.return_stack_size, params.call_counter_size);
        Self {
            stack: ReturnStack::new(params),
            is_on: options.implicit_return && (stack > 0 || counter > 0),
            knows_addresses: stack > 0 || !quirks.trusts_returns,
            counts: params.iret_ext,
            keeps_failed: quirks.keeps_failed_returns && !params.iret_ext,
            count: 0,
        }
    }

    /// Records a call; `end` is the address after it.
    #[inline]
    pub(super) fn call(&mut self, end: u64) {
        if self.is_on {
            self.stack.push(end);
            if !self.counts {
                self.count = 0;
            }
        }
    }

    /// Classifies a return to `target`.
    #[inline]
    pub(super) fn foresee(&self, target: u64) -> Return {
        let depth = self.stack.depth();
        if !self.is_on || depth == 0 {
            return Return::Uninferable((self.counts && self.count > 0).then_some(self.count));
        }
        if !self.knows_addresses || self.stack.top() == Some(target) {
            return Return::Implicit;
        }
        Return::Uninferable(Some(if self.counts { self.count } else { depth as u32 }))
    }

    /// Records a return of this kind.
    #[inline]
    pub(super) fn ret(&mut self, seen: Return) {
        if self.is_on && (seen == Return::Implicit || !self.keeps_failed) {
            self.stack.pop();
        }
        self.count += u32::from(seen == Return::Implicit);
    }

    /// Records a return whose target the instruction before it gives.
    #[inline]
    pub(super) fn inferable_ret(&mut self) {
        if self.is_on {
            self.stack.pop();
        }
    }

    /// Records a branch. Returns how many implicit returns came before it.
    #[inline]
    pub(super) fn branch(&mut self) -> u32 {
        core::mem::take(&mut self.count)
    }

    /// Returns whether a return to `target` and what follows it need no report.
    #[inline]
    pub(super) fn leads_to(&self, target: u64) -> bool {
        self.foresee(target) == Return::Implicit && self.count + 1 < MOST_RETURNS
    }

    /// Returns whether the address after a return must be reported because the counter is full.
    #[inline]
    pub(super) fn is_counted_out(&self) -> bool {
        self.counts && self.count >= MOST_RETURNS
    }

    /// Returns the value for a packet that reports an address which no uninferable jump led to, but perhaps
    /// an implicit return. A branch needs no depth, because a decoder cannot pass it unreported.
    pub(super) fn report(&self, is_after_return: bool, is_branch: bool) -> Option<u32> {
        if self.count == 0 || is_branch && !self.counts {
            return None;
        }
        let depth = self.stack.depth() as u32;
        match (self.counts, is_after_return) {
            (true, _) => Some(self.count),
            (false, true) => (depth > 0).then_some(depth),
            (false, false) => Some(depth),
        }
    }

    /// Returns whether there is an open call.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.is_on && self.stack.depth() > 0
    }

    /// Returns whether a start packet must wait until the implicit returns, which it cannot carry, are
    /// reported.
    pub(super) fn has_unreported(&self, is_implicit: bool) -> bool {
        self.counts && (self.count > 0 || is_implicit)
    }

    /// Resets for a synchronisation packet.
    pub(super) fn reset(&mut self) {
        self.stack.reset();
        self.count = 0;
    }
}
