use super::Quirks;
use crate::{Options, Params, ReturnStack};

/// What implicit returns need: the calls, and what a decoder must be told to find the right return.
#[derive(Clone, Debug)]
pub(super) struct Returns {
    stack: ReturnStack,
    is_on: bool,
    /// Return addresses are known, not only how many there are.
    knows_addresses: bool,
    /// Packets have `irets`, not `irdepth`.
    counts: bool,
    /// A return that went elsewhere leaves its call.
    keeps_failed: bool,
    /// Implicit returns since the last branch or address that was told.
    count: u32,
}

/// Where a return went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Return {
    /// Where the calls say: nothing has to be told.
    Implicit,
    /// Somewhere; packets have this for `irreport`.
    Uninferable(Option<u32>),
}

/// `irets` has 8 bits.
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

    /// A call retired; `end` is the address after it.
    #[inline]
    pub(super) fn call(&mut self, end: u64) {
        if self.is_on {
            self.stack.push(end);
            if !self.counts {
                self.count = 0;
            }
        }
    }

    /// What a return is that goes to `target`.
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

    /// A return retired that was foreseen so.
    #[inline]
    pub(super) fn ret(&mut self, seen: Return) {
        if self.is_on && (seen == Return::Implicit || !self.keeps_failed) {
            self.stack.pop();
        }
        self.count += u32::from(seen == Return::Implicit);
    }

    /// A return retired whose target the instruction before tells.
    #[inline]
    pub(super) fn inferable_ret(&mut self) {
        if self.is_on {
            self.stack.pop();
        }
    }

    /// A branch retired. Says how many returns had been left out.
    #[inline]
    pub(super) fn branch(&mut self) -> u32 {
        core::mem::take(&mut self.count)
    }

    /// Returns that were left out since the last branch or address that was told.
    #[inline]
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// So many were left out.
    pub(super) fn restore(&mut self, count: u32) {
        self.count = count;
    }

    /// Whether packets have the number of returns that were left out, for which calls do not matter.
    #[inline]
    pub(super) fn counts(&self) -> bool {
        self.counts
    }

    /// Whether nothing has to be told of a return to `target`, nor of what comes after it.
    #[inline]
    pub(super) fn leads_to(&self, target: u64) -> bool {
        self.foresee(target) == Return::Implicit && self.count + 1 < MOST_RETURNS
    }

    /// Whether the address after a return has to be told since no more can be counted.
    #[inline]
    pub(super) fn is_counted_out(&self) -> bool {
        self.counts && self.count >= MOST_RETURNS
    }

    /// What a packet says that tells an address which no uninferable jump led to, but perhaps an implicit return. Of
    /// branches, which a decoder cannot pass unknowingly, the depth need not be told.
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

    /// Whether there is a call to return from.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.is_on && self.stack.depth() > 0
    }

    /// Whether a start packet, which cannot tell how many returns were left out, has to wait until that is told.
    pub(super) fn has_untold(&self, is_implicit: bool) -> bool {
        self.counts && (self.count > 0 || is_implicit)
    }

    /// An address was told.
    #[inline]
    pub(super) fn told(&mut self) {
        self.count = 0;
    }

    /// For a synchronisation packet.
    pub(super) fn reset(&mut self) {
        self.stack.reset();
        self.count = 0;
    }
}
