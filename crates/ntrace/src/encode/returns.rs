//! Returns whose targets are not sent.

use crate::ImplicitReturn;

/// Most calls that are kept.
const MOST: usize = 32;

/// Calls that have not returned yet. If there is no room, the oldest is dropped.
#[derive(Clone, Debug)]
pub(super) struct Returns {
    mode: ImplicitReturn,
    /// Ring of return addresses.
    addresses: [u64; MOST],
    top: usize,
    len: usize,
    most: usize,
}

/// A return that was made, before its target is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Popped {
    /// There is no call to which it can return, or no instruction returns.
    Nothing,
    /// The address after the call.
    Address(u64),
}

impl Returns {
    pub fn new(mode: ImplicitReturn, calls: u8) -> Self {
        Self { mode, addresses: [0; MOST], top: 0, len: 0, most: usize::from(calls).min(MOST) }
    }

    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds a call that returns to `address`.
    #[inline]
    pub fn push(&mut self, address: u64) {
        if self.mode != ImplicitReturn::Off && self.most > 0 {
            self.top = (self.top + 1) % MOST;
            self.addresses[self.top] = address;
            self.len = (self.len + 1).min(self.most);
        }
    }

    #[inline]
    pub fn pop(&mut self) -> Popped {
        if self.len == 0 {
            return Popped::Nothing;
        }
        let address = self.addresses[self.top];
        self.len -= 1;
        self.top = (self.top + MOST - 1) % MOST;
        Popped::Address(address)
    }

    /// Returns whether the target of a return need not be sent.
    pub fn foretells(&self, popped: Popped, target: u64) -> bool {
        match (self.mode, popped) {
            (ImplicitReturn::Off, _) | (_, Popped::Nothing) => false,
            (ImplicitReturn::Counter, _) => true,
            (ImplicitReturn::LowBits(bits), Popped::Address(address)) => {
                let mask = 1_u64.checked_shl(bits.into()).unwrap_or(0).wrapping_sub(1);
                (address ^ target) & mask == 0
            }
            (ImplicitReturn::Stack, Popped::Address(address)) => address == target,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_call_is_dropped() {
        let mut returns = Returns::new(ImplicitReturn::Stack, 2);
        [2, 4, 6].into_iter().for_each(|address| returns.push(address));
        assert_eq!([returns.pop(), returns.pop()], [Popped::Address(6), Popped::Address(4)]);
        assert_eq!(returns.pop(), Popped::Nothing);
    }

    #[test]
    fn modes_compare_what_they_keep() {
        let foretells = |mode, target| Returns::new(mode, 32).foretells(Popped::Address(0x1234), target);
        for (mode, expected) in [
            (ImplicitReturn::Off, [false, false, false]),
            (ImplicitReturn::Counter, [true, true, true]),
            (ImplicitReturn::LowBits(8), [true, true, false]),
            (ImplicitReturn::Stack, [true, false, false]),
        ] {
            assert_eq!([0x1234, 0x9934, 0x1236].map(|target| foretells(mode, target)), expected, "{mode:?}");
        }
    }
}
