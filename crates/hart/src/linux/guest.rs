//! Access of system calls to the program's memory.

use super::errno::{Answer, Errno};
use crate::Core;
use crate::memory::PAGE;

/// Maximum length of a path, including the final zero.
pub const PATH_MAX: usize = 4096;

/// Returns the size of a `long` and of a pointer in bytes.
pub fn word_size(core: &Core) -> u64 {
    if core.is_rv32 { 4 } else { 8 }
}

/// Reads a `long`, not sign-extended.
pub fn word(core: &mut Core, address: u64) -> Result<u64, Errno> {
    if core.is_rv32 { Ok(u64::from(u32::from_le_bytes(get(core, address)?))) } else { double(core, address) }
}

/// Reads 64 bits.
pub fn double(core: &mut Core, address: u64) -> Result<u64, Errno> {
    Ok(u64::from_le_bytes(get(core, address)?))
}

/// Reads `N` bytes.
pub fn get<const N: usize>(core: &mut Core, address: u64) -> Result<[u8; N], Errno> {
    let mut bytes = [0; N];
    core.memory.read(core.address(address), &mut bytes)?;
    Ok(bytes)
}

/// Writes bytes. Returns 0, as most calls do that write something.
pub fn put(core: &mut Core, address: u64, bytes: &[u8]) -> Answer {
    core.memory.write(core.address(address), bytes)?;
    Ok(0)
}

/// Writes `long`s. Returns 0.
pub fn put_words(core: &mut Core, address: u64, words: &[u64]) -> Answer {
    let size = word_size(core) as usize;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes().into_iter().take(size)).collect();
    put(core, address, &bytes)
}

/// Writes 64 bits each, also on RV32. Returns 0.
pub fn put_doubles(core: &mut Core, address: u64, values: &[u64]) -> Answer {
    put(core, address, values.iter().copied().map(u64::to_le_bytes).collect::<Vec<_>>().as_flattened())
}

/// Reads a string up to a zero, of at most [`PATH_MAX`] bytes.
pub fn string(core: &mut Core, address: u64) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    while bytes.len() < PATH_MAX {
        // Not beyond the page, since the next one may not exist.
        let at = core.address(address.wrapping_add(bytes.len() as u64));
        let mut part = vec![0; (PAGE - at % PAGE) as usize];
        core.memory.read(at, &mut part)?;
        if let Some(end) = part.iter().position(|&byte| byte == 0) {
            bytes.extend_from_slice(&part[..end]);
            return if bytes.len() < PATH_MAX { Ok(bytes) } else { Err(Errno::ENAMETOOLONG) };
        }
        bytes.extend_from_slice(&part);
    }
    Err(Errno::ENAMETOOLONG)
}

/// Reads an array of addresses and lengths, as readv has it.
pub fn vectors(core: &mut Core, address: u64, count: u64) -> Result<Vec<(u64, u64)>, Errno> {
    /// Maximum number in Linux.
    const MOST: u64 = 1024;
    Errno::EINVAL.when(count > MOST)?;
    let size = word_size(core);
    let one = |index| {
        let at = address.wrapping_add(index * 2 * size);
        Ok((word(core, at)?, word(core, at.wrapping_add(size))?))
    };
    (0..count).map(one).collect()
}

/// Reads seconds and nanoseconds, 64 bits each, as nanoseconds.
pub fn timespec(core: &mut Core, address: u64) -> Result<u64, Errno> {
    let seconds = double(core, address)? as i64;
    let nanoseconds = double(core, address.wrapping_add(8))?;
    Errno::EINVAL.when(seconds < 0 || nanoseconds >= 1_000_000_000)?;
    Ok((seconds as u64).saturating_mul(1_000_000_000).saturating_add(nanoseconds))
}
