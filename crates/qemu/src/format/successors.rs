/// Successors of a translation, as writer and reader of a thread's words both know them: the first ever seen, and the
/// last that was different.
///
/// Numbers are stored plus one, so that zeroed memory is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Successors {
    known: [u32; 2],
}

/// Result of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    /// Predicted, as outcome 0 or 1.
    Known(bool),
    /// Not predicted.
    Other,
}

impl Successors {
    /// Returns whether a translation is predicted.
    #[inline]
    pub fn find(&self, next: u32) -> Guess {
        let next = next.wrapping_add(1);
        let is_second = self.known[1] == next;
        if self.known[0] == next || is_second { Guess::Known(is_second) } else { Guess::Other }
    }

    /// Returns the translation that an outcome stands for.
    #[inline]
    pub fn get(&self, outcome: bool) -> Option<u32> {
        self.known[usize::from(outcome)].checked_sub(1)
    }

    /// Adds a translation that was not predicted.
    #[inline]
    pub fn learn(&mut self, next: u32) {
        self.known[usize::from(self.known[0] != 0)] = next.wrapping_add(1);
    }
}
