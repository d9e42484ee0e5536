use crate::NodeId;

/// Maximum depth, as in OpenCSD. If that of a trace unit is smaller, it sends addresses that are not needed.
const DEPTH: usize = 16;

/// The calls whose returns may have no address in the trace: a ring that overwrites its oldest entry.
///
/// An entry is the node that ends with the call. The return goes to the node after it.
#[derive(Clone, Debug)]
pub struct ReturnStack {
    entries: [NodeId; DEPTH],
    /// Index of the next entry.
    top: usize,
    len: usize,
}

impl ReturnStack {
    /// Creates an empty stack.
    pub const fn new() -> Self {
        Self { entries: [NodeId::NONE; DEPTH], top: 0, len: 0 }
    }

    /// Adds a call.
    #[inline(always)]
    pub fn push(&mut self, caller: NodeId) {
        self.entries[self.top] = caller;
        self.top = (self.top + 1) % DEPTH;
        self.len = (self.len + 1).min(DEPTH);
    }

    /// Removes and returns the newest call.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<NodeId> {
        self.len = self.len.checked_sub(1)?;
        self.top = (self.top + DEPTH - 1) % DEPTH;
        Some(self.entries[self.top])
    }

    /// Removes all entries.
    pub fn flush(&mut self) {
        self.len = 0;
    }

    /// Returns all entries, newest first.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> {
        (1..=self.len).map(|back| self.entries[(self.top + DEPTH - back) % DEPTH])
    }
}

impl Default for ReturnStack {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entry_is_overwritten() {
        let mut stack = ReturnStack::new();
        (0..20).for_each(|i| stack.push(NodeId(i)));
        assert!(stack.iter().eq((4..20).rev().map(NodeId)));
        for expected in (4..20).rev() {
            assert_eq!(stack.pop(), Some(NodeId(expected)));
        }
        assert_eq!(stack.pop(), None);
    }

    #[test]
    fn flushed_it_is_empty() {
        let mut stack = ReturnStack::new();
        stack.push(NodeId(1));
        stack.flush();
        assert_eq!((stack.pop(), stack.iter().count()), (None, 0));
    }
}
