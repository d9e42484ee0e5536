//! E-Trace: our decoder beside the `riscv-etrace` crate on the same bytes, our encoder, and how small its packets are.
//!
//! Both decoders must find the same: so many instructions, and at which of them execution went elsewhere, and where to.

pub mod program;
pub mod record;
mod rival;
mod size;
mod speed;
mod tool;

pub use speed::SHARED;

/// The word that picks the speed of decoding and encoding; with a program's name after a slash, of that only.
pub const SPEED: &str = "etrace";
/// The word that picks the sizes of traces.
pub const SIZE: &str = "etrace-size";

/// Returns whether the word names one of these benchmarks.
pub fn is_meant(word: &str) -> bool {
    word == SIZE || program_of(word).is_some()
}

pub fn tables(only: Option<&str>, check: bool) -> Result<usize, String> {
    match only {
        None => Ok(speed::tables(None, check)? + size::tables(check)?),
        Some(SIZE) => size::tables(check),
        Some(word) => program_of(word).map_or(Ok(0), |program| speed::tables(program, check)),
    }
}

/// Returns the program whose speed the word asks for, if it asks for speed.
fn program_of(word: &str) -> Option<Option<&str>> {
    match word.strip_prefix(SPEED)? {
        "" => Some(None),
        rest => rest.strip_prefix('/').map(Some),
    }
}

/// What is told of an execution: the same from everyone who tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub instructions: u64,
    /// Of all discontinuities.
    digest: u64,
    /// Where the next instruction is if there is none.
    next: u64,
}

impl Answer {
    /// So many instructions from `start` to `end`.
    #[inline(always)]
    pub fn add(&mut self, start: u64, end: u64, count: u64) {
        // No more than it takes to notice anything: nothing is added where execution goes on, and a place among the
        // instructions counts.
        let distance = start.wrapping_sub(self.next);
        let place = start ^ self.instructions.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.digest = self.digest.wrapping_add(distance.wrapping_mul(place));
        self.instructions += count;
        self.next = end;
    }
}
