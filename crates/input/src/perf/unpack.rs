//! Decompression of zstd data, and of files.

use std::fmt;
use std::io::{self, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use tracewright_image::{Bytes, is_xz, unpacked_xz};

/// Endings of compressed files.
pub(super) const ENDINGS: [&str; 3] = [".xz", ".zst", ".gz"];
/// Most bytes of an unpacked file.
const MOST_FILE: usize = 256 << 20;
/// Largest window of a decompressor. No recorder asks for more (zstd's level 22).
const MOST_WINDOW: u64 = 128 << 20;
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

/// Unpacks a compressed kernel module, as distributions store it; returns other bytes as they are.
pub(super) fn unpacked_file(bytes: Bytes) -> Result<Bytes, String> {
    let packed = bytes.as_slice();
    if is_xz(packed) {
        return Ok(unpacked_xz(packed, MOST_FILE).map_err(|error| error.to_string())?.into());
    }
    if is_packed(packed) {
        let all = unpack_to(packed, u64::MAX, MOST_FILE).map_err(|error| error.to_string())?;
        let is_whole = all.len() <= MOST_FILE;
        return if is_whole { Ok(all.into()) } else { Err(format!("more than {MOST_FILE} bytes")) };
    }
    if packed.starts_with(&[0x1f, 0x8b]) {
        return Err("compressed with gzip, which is not read here: gunzip it".into());
    }
    Ok(bytes)
}

/// Checks that the frame that begins here can be unpacked with bounded memory.
fn check_window(mut source: Chain<'_>) -> Result<(), ZstdError> {
    let mut header = [0; 6];
    // The decompressor reports a truncated header.
    let _ = source.read_exact(&mut header);
    let [.., descriptor, window] = header;
    let is_single = descriptor >> 5 & 1 == 1;
    let size = if is_single {
        // The unpacked size replaces the window size, little-endian, after a dictionary's ID.
        let bytes = [1, 2, 4, 8][usize::from(descriptor >> 6)];
        let mut size = [0; 8];
        let mut rest = [&[window], &[0; 11][..]].concat();
        let _ = source.read(&mut rest[1..]);
        let id = [0, 1, 2, 4][usize::from(descriptor & 3)];
        size[..bytes].copy_from_slice(&rest[id..id + bytes]);
        u64::from_le_bytes(size)
    } else {
        let base = 1_u64 << (10 + (window >> 3));
        base + base / 8 * u64::from(window & 7)
    };
    if size > MOST_WINDOW {
        return Err(ZstdError::Window(size));
    }
    Ok(())
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
