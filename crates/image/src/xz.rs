//! Decompression of xz data: symbols inside a program (`.gnu_debugdata`) and kernel modules.

use std::fmt;

use xz4rust::{DICT_SIZE_MIN, XzDecoder};

/// Largest dictionary; `xz -9` needs this much, and no preset more.
const MOST_KEPT: usize = 64 << 20;
const CHUNK: usize = 64 << 10;
const MAGIC: &[u8] = b"\xfd7zXZ\0";

/// Returns whether `bytes` begin as xz data does.
#[must_use]
pub fn is_xz(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Error of [`unpacked_xz`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum XzError {
    /// Data that ends early.
    Truncated,
    /// Damaged data, with the reason that the decompressor gives.
    Damaged(Box<str>),
    /// Data that unpacks to more than this many bytes.
    TooLarge(usize),
}

impl fmt::Display for XzError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("compressed with xz, and cut off"),
            Self::Damaged(why) => write!(f, "compressed with xz, and damaged: {why}"),
            Self::TooLarge(most) => write!(f, "compressed with xz, and more than {most} bytes"),
        }
    }
}

impl std::error::Error for XzError {}

/// Unpacks xz data to at most `most` bytes.
///
/// # Errors
/// Fails if the data is damaged, truncated or larger.
pub fn unpacked_xz(bytes: &[u8], most: usize) -> Result<Vec<u8>, XzError> {
    let mut decoder = XzDecoder::in_heap_with_alloc_dict_size(DICT_SIZE_MIN, MOST_KEPT);
    let (mut rest, mut all, mut chunk) = (bytes, Vec::new(), vec![0; CHUNK]);
    loop {
        let step = decoder.decode(rest, &mut chunk).map_err(|error| match error {
            xz4rust::XzError::NeedsLargerInputBuffer => XzError::Truncated,
            error => XzError::Damaged(error.to_string().into()),
        })?;
        rest = rest.get(step.input_consumed()..).unwrap_or_default();
        all.extend_from_slice(chunk.get(..step.output_produced()).unwrap_or_default());
        if all.len() > most {
            return Err(XzError::TooLarge(most));
        }
        if step.is_end_of_stream() {
            return Ok(all);
        }
        if !step.made_progress() {
            return Err(XzError::Truncated);
        }
    }
}
