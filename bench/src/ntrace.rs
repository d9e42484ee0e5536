//! N-Trace: how fast traces are decoded and encoded, and how small they are beside those of NexRv, of E-Trace and of ETMv4.

mod arm;
mod published;
mod record;
mod size;
mod speed;

/// The word that picks the speed of decoding and encoding; with a program's name after a slash, of that only.
const SPEED: &str = "ntrace";
/// The word that picks the sizes of traces.
const SIZE: &str = "ntrace-size";

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
