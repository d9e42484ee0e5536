/// The translations that came after one, as far as writer and reader of a thread's words both remember them: the first ever seen, and the
/// last that was not that.
///
/// Numbers are kept plus one, so that memory that is all zero knows nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Successors {
    known: [u32; 2],
}

/// What came next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    /// The one that is known as outcome 0 or 1.
    Known(bool),
    /// Another one.
    Other,
}

impl Successors {
    /// Whether a translation is foretold.
    #[inline]
    pub fn find(&self, next: u32) -> Guess {
        let next = next.wrapping_add(1);
        let is_second = self.known[1] == next;
        if self.known[0] == next || is_second { Guess::Known(is_second) } else { Guess::Other }
    }

    /// The one that an outcome stands for.
    #[inline]
    pub fn get(&self, outcome: bool) -> Option<u32> {
        self.known[usize::from(outcome)].checked_sub(1)
    }

    /// Remembers one that was not foretold.
    #[inline]
    pub fn learn(&mut self, next: u32) {
        self.known[usize::from(self.known[0] != 0)] = next.wrapping_add(1);
    }
}
