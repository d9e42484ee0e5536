//! Cycle counts: four bits in the first byte, above its lowest two, then seven in each byte. Bit 6 of the first and bit 7 of the others say
//! whether another byte follows.

/// Most bytes of a count: of an atom's, and of others.
pub(super) const ATOM_BYTES: usize = 5;
pub(super) const BYTES: usize = 5;

/// Reads the count at the start of `bytes`, of at most `most` bytes. Returns it and the number of its bytes.
pub(super) fn read(bytes: &[u8], most: usize) -> Option<(u32, usize)> {
    let &first = bytes.first()?;
    let mut count = u32::from(first >> 2 & 0xf);
    let (mut len, mut more) = (1, first & 0x40 != 0);
    while more && len < most {
        let &byte = bytes.get(len)?;
        count |= u32::from(byte & 0x7f).checked_shl(7 * len as u32 - 3).unwrap_or(0);
        more = byte & 0x80 != 0;
        len += 1;
    }
    Some((count, len))
}

/// Reads a count of one or two bytes at the start of a little-endian word. Returns `None` if it has more.
#[inline(always)]
pub(super) fn in_word(word: u32) -> Option<(u32, usize)> {
    let two = word >> 6 & 1;
    if two & word >> 15 == 1 {
        return None;
    }
    Some((word >> 2 & 0xf | ((word >> 4 & 0x7f0) * two), 1 + two as usize))
}

/// Appends a count, with `low` in the other bits of the first byte.
pub(super) fn write(count: u32, low: u8, bytes: &mut Vec<u8>) {
    let mut rest = count >> 4;
    bytes.push(low | (count as u8 & 0xf) << 2 | u8::from(rest > 0) << 6);
    while rest > 0 {
        let byte = rest as u8 & 0x7f;
        rest >>= 7;
        bytes.push(byte | u8::from(rest > 0) << 7);
    }
}
