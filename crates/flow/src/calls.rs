use crate::NodeId;

/// A stack of calls that have not returned yet, of limited size like that of an encoder. If there is no room, the
/// oldest entry is dropped.
///
/// An entry may stand for several calls with the same return address.
#[derive(Clone, Debug)]
pub struct Calls {
    /// Ring whose length is a power of two: the node that a call returns to, and the number of further calls that
    /// return there.
    entries: Vec<(NodeId, u32)>,
    /// Index of the newest entry.
    top: usize,
    len: usize,
    most: usize,
    most_repeats: u32,
    /// Calls less returns.
    height: u64,
}

impl Calls {
    /// Creates a stack of at most `most` entries, each of which may stand for up to `most_repeats` further calls.
    pub fn new(most: usize, most_repeats: u32) -> Self {
        Self { entries: Vec::new(), top: 0, len: 0, most, most_repeats, height: 0 }
    }

    /// Returns the number of entries.
    #[inline(always)]
    pub fn depth(&self) -> usize {
        self.len
    }

    /// Returns a height that grows with each call and shrinks with each return, even if an entry stands for several.
    /// Only differences have a meaning.
    #[inline(always)]
    pub fn height(&self) -> u64 {
        self.height
    }

    /// Removes all calls.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Sets the number of open calls. Their return addresses are unknown: [`NodeId::NONE`].
    pub fn set_unknown(&mut self, depth: usize) {
        self.clear();
        (0..depth.min(self.most)).for_each(|_| self.push(NodeId::NONE));
    }

    /// Adds a call that returns to `node`.
    #[inline(always)]
    pub fn push(&mut self, node: NodeId) {
        if self.entries.is_empty() && !self.start() {
            return;
        }
        self.height = self.height.wrapping_add(1);
        let mask = self.entries.len() - 1;
        if self.most_repeats > 0 && self.len > 0 {
            let (newest, repeats) = &mut self.entries[self.top];
            if *newest == node && *repeats < self.most_repeats && node.is_some() {
                *repeats += 1;
                return;
            }
        }
        self.top = (self.top + 1) & mask;
        self.entries[self.top] = (node, 0);
        self.len += usize::from(self.len < self.most);
    }

    /// Removes the newest call. Returns the node to which it returns.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<NodeId> {
        if self.len == 0 {
            return None;
        }
        self.height = self.height.wrapping_sub(1);
        let mask = self.entries.len() - 1;
        let (node, repeats) = &mut self.entries[self.top];
        if *repeats > 0 {
            *repeats -= 1;
            return Some(*node);
        }
        let node = *node;
        self.top = self.top.wrapping_sub(1) & mask;
        self.len -= 1;
        Some(node)
    }

    /// Returns all entries, newest first.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, u32)> + '_ {
        let mask = self.entries.len().wrapping_sub(1);
        (0..self.len).map(move |i| self.entries[self.top.wrapping_sub(i) & mask])
    }

    /// Replaces the numbers of the nodes.
    pub(crate) fn renumber(&mut self, mut number: impl FnMut(NodeId) -> NodeId) {
        let mask = self.entries.len().wrapping_sub(1);
        for i in 0..self.len {
            let entry = &mut self.entries[self.top.wrapping_sub(i) & mask];
            entry.0 = number(entry.0);
        }
    }

    /// Allocates the ring at the first call.
    #[cold]
    fn start(&mut self) -> bool {
        if self.most > 0 {
            self.entries = vec![(NodeId::NONE, 0); self.most.next_power_of_two()];
        }
        self.most > 0
    }
}

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
    fn the_oldest_is_forgotten() {
        let mut calls = Calls::new(2, 0);
        (1..4).for_each(|i| calls.push(NodeId(i)));
        assert_eq!(calls.depth(), 2);
        assert_eq!(calls.iter().collect::<Vec<_>>(), [(NodeId(3), 0), (NodeId(2), 0)]);
        assert_eq!([calls.pop(), calls.pop(), calls.pop()], [Some(NodeId(3)), Some(NodeId(2)), None]);
    }

    #[test]
    fn an_entry_stands_for_several() {
        let mut calls = Calls::new(2, 1);
        (0..5).for_each(|_| calls.push(NodeId(7)));
        // Two entries of two calls each. The fifth call replaced the oldest.
        assert_eq!(calls.depth(), 2);
        let popped = std::iter::from_fn(|| calls.pop()).count();
        assert_eq!(popped, 3);
    }

    #[test]
    fn each_return_is_a_step_down() {
        let mut calls = Calls::new(2, 7);
        (0..5).for_each(|_| calls.push(NodeId(7)));
        let (depth, height) = (calls.depth(), calls.height());
        calls.pop();
        assert_eq!((calls.depth(), calls.height()), (depth, height - 1));
    }

    #[test]
    fn without_room_nothing_is_kept() {
        let mut calls = Calls::new(0, 0);
        calls.push(NodeId(1));
        assert_eq!((calls.depth(), calls.pop()), (0, None));
    }

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
