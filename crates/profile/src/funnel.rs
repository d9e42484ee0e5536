//! From bytes to what is in the output: what is left at each step, and why the rest is not.

use std::ops::AddAssign;

/// What became of all that was traced: bytes, those of them that were decoded, instructions, and how many of these are of known binaries and
/// functions, and in the output; and why the others are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Funnel {
    /// Bytes of trace files that were read.
    pub bytes: u64,
    /// Those of them that are no trace of a source that was asked for: frames, padding, other sources.
    pub bytes_around: u64,
    /// Those of sources that nothing here can read.
    pub bytes_unread: u64,
    /// Those of which nothing could be made: before the first synchronisation, and in gaps.
    pub bytes_lost: u64,
    /// Times that trace is missing.
    pub gaps: u64,
    /// Instructions that ran.
    pub instructions: u64,
    /// Times that no image has the code that ran.
    pub without_code: u64,
    /// Times that the code cannot be what ran.
    pub mismatches: u64,
    /// Instructions of a known binary.
    pub in_binary: u64,
    /// Instructions of a known function.
    pub in_function: u64,
    /// Instructions in the output.
    pub in_output: u64,
    /// How often the trace told that instructions ran without telling which, or how often they ran: all counts are lower bounds then.
    pub unknown_paths: u64,
    /// Sources that were not decoded to their end, since a limit was reached: all counts are lower bounds then.
    pub stopped: u64,
}

impl Funnel {
    /// Bytes that were decoded.
    #[must_use]
    pub const fn bytes_decoded(&self) -> u64 {
        let not = self.bytes_around.saturating_add(self.bytes_unread).saturating_add(self.bytes_lost);
        self.bytes.saturating_sub(not)
    }

    /// Returns whether counts are lower bounds although no trace is missing.
    #[must_use]
    pub const fn is_lower_bound(&self) -> bool {
        self.unknown_paths > 0 || self.stopped > 0
    }

    /// All numbers, in the order that files have them.
    pub(crate) fn numbers(&mut self) -> [&mut u64; 13] {
        [
            &mut self.bytes,
            &mut self.bytes_around,
            &mut self.bytes_unread,
            &mut self.bytes_lost,
            &mut self.gaps,
            &mut self.instructions,
            &mut self.without_code,
            &mut self.mismatches,
            &mut self.in_binary,
            &mut self.in_function,
            &mut self.in_output,
            &mut self.unknown_paths,
            &mut self.stopped,
        ]
    }
}

impl AddAssign for Funnel {
    fn add_assign(&mut self, mut other: Self) {
        for (sum, number) in self.numbers().into_iter().zip(other.numbers()) {
            *sum = sum.saturating_add(*number);
        }
    }
}
