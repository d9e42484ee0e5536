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
}
