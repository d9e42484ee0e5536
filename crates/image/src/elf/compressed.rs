//! Compressed debug sections: `SHF_COMPRESSED` with zlib or zstd, and the older `.zdebug_*` of GNU tools.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use object::elf;
use ruzstd::decoding::StreamingDecoder;

use super::{Elf, Section};

/// Largest ratio of unpacked to packed size, and what a section may have in any case. Debug information shrinks
/// to a tenth at best.
const MOST_RATIO: u64 = 200;
const ALWAYS: u64 = 1 << 20;
/// Largest unpacked section.
const MOST_UNPACKED: u64 = 1 << 30;
/// Largest window of zstd; compressors of sections use 8 MiB at most.
const MOST_WINDOW: u64 = 128 << 20;

/// Reason why a compressed section cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Compression of an unknown type.
    UnknownType(u32),
    /// Unpacked size out of proportion.
    TooLarge(u64),
    /// Damaged data.
    Damaged,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownType(kind) => write!(f, "is compressed in an unknown way (type {kind})"),
            Self::TooLarge(size) => write!(f, "is compressed and claims to be {size} bytes: not unpacked"),
            Self::Damaged => f.write_str("is compressed and damaged"),
        }
    }
}

/// Returns the section called `name`, a `.debug_*`, compressed or not, if it has bytes in the file.
pub(super) fn section<'e>(elf: &'e Elf, name: &str) -> Option<&'e Section> {
    let is_called = |section: &&Section| {
        let own = &*section.name;
        own == name || own.strip_prefix(".z").is_some_and(|own| name.strip_prefix('.') == Some(own))
    };
    elf.sections.iter().filter(|section| section.is_in_file() && section.len > 0).find(is_called)
}

/// Returns the unpacked bytes of the section called `name`, a `.debug_*`; none if there is no such section.
///
/// # Errors
/// Fails if the section cannot be unpacked.
pub(super) fn unpacked<'a>(elf: &Elf, file: &'a [u8], name: &str) -> Result<Cow<'a, [u8]>, Fault> {
    let Some(section) = section(elf, name) else { return Ok(Cow::default()) };
    let bytes = section.bytes(file).unwrap_or_default();
    if section.flags.contains(elf::SHF_COMPRESSED) {
        let (kind, size, packed) = header(bytes, elf.wide).ok_or(Fault::Damaged)?;
        return match elf::CompressionType(kind) {
            elf::ELFCOMPRESS_ZLIB => zlib(packed, size),
            elf::ELFCOMPRESS_ZSTD => zstd(packed, size),
            _ => Err(Fault::UnknownType(kind)),
        }
        .map(Cow::from);
    }
    if section.name.starts_with(".z") {
        let rest = bytes.strip_prefix(b"ZLIB").ok_or(Fault::Damaged)?;
        let (size, packed) = rest.split_first_chunk().ok_or(Fault::Damaged)?;
        return zlib(packed, u64::from_be_bytes(*size)).map(Cow::from);
    }
    Ok(bytes.into())
}

/// Reads the header of a compressed section: its type, its unpacked size, and the bytes that follow.
fn header(bytes: &[u8], wide: bool) -> Option<(u32, u64, &[u8])> {
    let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let kind = word(0)?;
    // The last field is the alignment, which no reader needs.
    let (size, len) = match wide {
        true => (u64::from(word(8)?) | u64::from(word(12)?) << 32, 24),
        false => (u64::from(word(4)?), 12),
    };
    Some((kind, size, bytes.get(len..)?))
}

/// Checks that an unpacked size is plausible.
fn check(packed: &[u8], size: u64) -> Result<usize, Fault> {
    let most = (packed.len() as u64).saturating_mul(MOST_RATIO).saturating_add(ALWAYS).min(MOST_UNPACKED);
    usize::try_from(size).ok().filter(|_| size <= most).ok_or(Fault::TooLarge(size))
}

fn zlib(packed: &[u8], size: u64) -> Result<Vec<u8>, Fault> {
    let size = check(packed, size)?;
    let bytes = decompress_to_vec_zlib_with_limit(packed, size).map_err(|_| Fault::Damaged)?;
    if bytes.len() == size { Ok(bytes) } else { Err(Fault::Damaged) }
}

fn zstd(mut packed: &[u8], size: u64) -> Result<Vec<u8>, Fault> {
    let size = check(packed, size)?;
    let mut bytes = Vec::new();
    // A section may have several frames.
    while !packed.is_empty() && bytes.len() <= size {
        window(packed).filter(|window| *window <= MOST_WINDOW).ok_or(Fault::Damaged)?;
        let decoder = StreamingDecoder::new(&mut packed).map_err(|_| Fault::Damaged)?;
        let left = (size - bytes.len()) as u64;
        decoder.take(left + 1).read_to_end(&mut bytes).map_err(|_| Fault::Damaged)?;
    }
    if bytes.len() == size { Ok(bytes) } else { Err(Fault::Damaged) }
}

/// Returns how much memory the zstd frame at the start of `bytes` asks for.
fn window(bytes: &[u8]) -> Option<u64> {
    let &descriptor = bytes.get(4)?;
    if descriptor >> 5 & 1 == 0 {
        let &window = bytes.get(5)?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // The unpacked size, after the ID of a dictionary.
    let id = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let len = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let mut size = [0; 8];
    size[..len].copy_from_slice(bytes.get(5 + id..)?.get(..len)?);
    Some(u64::from_le_bytes(size))
}
