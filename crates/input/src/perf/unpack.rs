//! Decompression of zstd data in recordings.

use std::fmt;
use std::io::{self, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::compressed::{MOST_WINDOW, ZSTD_HEADER, zstd_window};

/// End of a frame: an empty last block, and room for a checksum, which is ignored.
const END: &[u8] = &[1, 0, 0, 0, 0, 0, 0];
const MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Error of unpacking zstd data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ZstdError {
    /// Damaged data, with the reason that the decompressor gives.
    Damaged(Box<str>),
    /// Data that unpacks to more than this many times its size.
    Ratio(u64),
    /// Data that needs a window of this many bytes.
    Window(u64),
}

impl fmt::Display for ZstdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its compressed part ")?;
        match self {
            Self::Damaged(why) => write!(f, "is damaged: {why}"),
            Self::Ratio(most) => write!(f, "is more than {most} times as large as it was: not read on"),
            Self::Window(size) => write!(f, "needs {size} bytes of memory: not read"),
        }
    }
}

impl std::error::Error for ZstdError {}

/// Returns whether `bytes` begin as zstd data does.
pub(super) fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Unpacks `parts`, which belong together, and passes the data to `out` piece by piece until it returns
/// `false`. Stops with an error if the data is more than `most` times as large as the parts.
///
/// perf never ends its stream, and a killed recorder leaves half a block; all whole blocks are unpacked.
///
/// # Errors
/// Fails if the data is damaged or would take too much memory.
pub(super) fn unpack(
    parts: &[&[u8]],
    most: u64,
    mut out: impl FnMut(&[u8]) -> bool,
) -> Result<(), ZstdError> {
    let mut source = Chain { parts, at: 0 };
    let total: u64 = parts.iter().map(|part| part.len() as u64).sum();
    let mut left = total.saturating_mul(most).saturating_add(1 << 20);
    let mut decoder = FrameDecoder::new();
    while source.is_more() {
        check_window(source.clone())?;
        let damaged = |error: &dyn fmt::Display| ZstdError::Damaged(error.to_string().into());
        decoder.reset(&mut source).map_err(|error| damaged(&error))?;
        let mut result = Ok(());
        while !decoder.is_finished() {
            if result.is_ok() && source.is_more() {
                let block = decoder.decode_blocks(&mut source, BlockDecodingStrategy::UptoBlocks(1));
                result = block.map(|_| ()).map_err(|error| damaged(&error));
            } else if decoder.decode_blocks(END, BlockDecodingStrategy::UptoBlocks(1)).is_err() {
                return result;
            }
            while decoder.can_collect() > 0 {
                let bytes = decoder.collect().unwrap_or_default();
                left = left.checked_sub(bytes.len() as u64).ok_or(ZstdError::Ratio(most))?;
                if !out(&bytes) {
                    return Ok(());
                }
            }
        }
        result?;
    }
    Ok(())
}

/// Unpacks `bytes` like [`unpack`], but not much beyond `limit` bytes.
pub(super) fn unpack_to(bytes: &[u8], most: u64, limit: usize) -> Result<Vec<u8>, ZstdError> {
    let mut all = Vec::new();
    unpack(&[bytes], most, |part| {
        all.extend_from_slice(part);
        all.len() <= limit
    })?;
    Ok(all)
}

/// Unpacks data whose size is in proportion to `bytes`.
///
/// # Errors
/// Fails if the data is damaged, or would take too much memory.
pub fn unpacked_zstd(bytes: &[u8]) -> Result<Vec<u8>, ZstdError> {
    unpack_to(bytes, 200, usize::MAX)
}

/// Checks that the frame that begins here can be unpacked with bounded memory.
fn check_window(source: Chain<'_>) -> Result<(), ZstdError> {
    let mut header = Vec::new();
    // Reading slices does not fail; the decompressor reports a truncated header.
    let _ = source.take(ZSTD_HEADER as u64).read_to_end(&mut header);
    match zstd_window(&header) {
        size if size > MOST_WINDOW => Err(ZstdError::Window(size)),
        _ => Ok(()),
    }
}

/// Slices read one after another.
#[derive(Clone)]
struct Chain<'a> {
    parts: &'a [&'a [u8]],
    at: usize,
}

impl Chain<'_> {
    fn is_more(&self) -> bool {
        let taken = |index: usize| if index == 0 { self.at } else { 0 };
        self.parts.iter().enumerate().any(|(index, part)| part.len() > taken(index))
    }
}

impl Read for Chain<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some((part, rest)) = self.parts.split_first() {
            let bytes = &part[self.at..];
            if bytes.is_empty() {
                (self.parts, self.at) = (rest, 0);
                continue;
            }
            let len = bytes.len().min(buffer.len());
            buffer[..len].copy_from_slice(&bytes[..len]);
            self.at += len;
            return Ok(len);
        }
        Ok(0)
    }
}
