use tracewright_core::Isa;

/// The addresses after the last calls, newest on top. If there are too many, the oldest is dropped.
#[derive(Clone, Debug)]
pub(super) struct ReturnStack {
    entries: [(u64, Isa); Self::MAX],
    /// Index of the next entry.
    top: usize,
    len: usize,
    depth: usize,
}

impl ReturnStack {
    /// Number of entries that decoders keep.
    pub(super) const MAX: usize = 16;

    /// Creates a stack of `depth` entries, at most 16.
    pub(super) fn new(depth: u8) -> Self {
        let depth = usize::from(depth).min(Self::MAX);
        Self { entries: [(0, Isa::A64); Self::MAX], top: 0, len: 0, depth }
    }

    #[inline]
    pub(super) fn push(&mut self, address: u64, isa: Isa) {
        self.entries[self.top] = (address, isa);
        self.top = (self.top + 1) % Self::MAX;
        self.len = (self.len + 1).min(self.depth);
    }

    /// Removes the top entry if it equals this address. Returns whether it did.
    #[inline]
    pub(super) fn pop_if(&mut self, address: u64, isa: Isa) -> bool {
        let last = (self.top + Self::MAX - 1) % Self::MAX;
        let matches = self.len > 0 && self.entries[last] == (address, isa);
        if matches {
            self.top = last;
            self.len -= 1;
        }
        matches
    }

    pub(super) fn flush(&mut self) {
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_lost() {
        let mut stack = ReturnStack::new(2);
        (1..=3).for_each(|i| stack.push(i * 4, Isa::A64));
        assert!(!stack.pop_if(8, Isa::A64));
        assert!(!stack.pop_if(12, Isa::T32));
        assert!(stack.pop_if(12, Isa::A64));
        assert!(stack.pop_if(8, Isa::A64));
        assert!(!stack.pop_if(4, Isa::A64));
        stack.push(4, Isa::A64);
        stack.flush();
        assert!(!stack.pop_if(4, Isa::A64));
    }
}
