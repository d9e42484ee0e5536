//! What is left of the trace at each step from bytes to output, and why the rest is missing.

use std::ops::AddAssign;

/// Statistics of a trace: how many bytes were decoded, how many instructions these gave, how many of those belong to
/// known binaries and functions and are in the output, and why others are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Funnel {
    /// Bytes of trace files that were read.
    pub bytes: u64,
    /// Bytes that are not trace of a requested source: framing, padding, other sources.
    pub bytes_around: u64,
    /// Bytes of sources in unsupported formats.
    pub bytes_unread: u64,
    /// Bytes that could not be decoded: before the first synchronisation and in gaps.
    pub bytes_lost: u64,
    /// Number of gaps in the trace.
    pub gaps: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// Number of times that no image had the code that ran.
    pub without_code: u64,
    /// Number of times that the code cannot be what ran.
    pub mismatches: u64,
    /// Instructions in a known binary.
    pub in_binary: u64,
    /// Instructions in a known function.
    pub in_function: u64,
    /// Instructions in the output.
    pub in_output: u64,
    /// Number of times that the trace reported execution without telling which instructions ran or how often. If not 0,
    /// all counts are lower bounds.
    pub unknown_paths: u64,
    /// Sources that were not decoded to their end because a limit was reached. If not 0, all counts are lower bounds.
    pub stopped: u64,
}

impl Funnel {
    /// Returns the number of bytes that were decoded.
    pub const fn bytes_decoded(&self) -> u64 {
        let not = self.bytes_around.saturating_add(self.bytes_unread).saturating_add(self.bytes_lost);
        self.bytes.saturating_sub(not)
    }

    /// Returns whether counts are lower bounds although no trace is missing.
    pub const fn is_lower_bound(&self) -> bool {
        self.unknown_paths > 0 || self.stopped > 0
    }

    /// Returns all numbers, in file order.
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
