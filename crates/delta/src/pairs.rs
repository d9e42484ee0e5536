//! Fast decoding of {A, C} groups in Elias gamma: short ones by a table, others by counting zeros.

use crate::bits::BitReader;

/// Number of bits that index the table.
const INDEX: u32 = 11;

/// For each index the group that it begins with: A (without the one that is added) from bit 8 on, C from bit 20 on,
/// and its length in bits. 0 if the group is longer.
static TABLE: [u32; 1 << INDEX] = table();

const fn table() -> [u32; 1 << INDEX] {
    let mut table = [0; 1 << INDEX];
    let mut index = 1;
    while index < table.len() {
        let word = (index as u64) << (64 - INDEX);
        let (a, c, len) = pair(word);
        if len <= INDEX {
            table[index] = len | (a as u32) << 8 | (c as u32) << 20;
        }
        index += 1;
    }
    table
}

/// Returns the two numbers that `word` begins with, and their length in bits, more than 64 if they do not fit.
#[inline]
const fn pair(word: u64) -> (u64, u64, u32) {
    let zeros = word.leading_zeros();
    if zeros > 28 {
        return (0, 0, u32::MAX);
    }
    let rest = word << (2 * zeros + 1);
    let more = rest.leading_zeros();
    let len = 2 * (zeros + more) + 2;
    if len > 57 {
        return (0, 0, u32::MAX);
    }
    ((word >> (63 - 2 * zeros)) - 1, rest >> (63 - 2 * more), len)
}

/// Reads groups that fit a word, and passes A and C of each to `tell`. Stops at the first that does not fit, which
/// may be the padding. The numbers are below 2^29.
#[inline]
pub(crate) fn read(bits: &mut BitReader, mut tell: impl FnMut(u64, u64)) {
    let end = bits.len();
    let mut at = bits.at();
    // The bits from `at` on, and the number of them that are valid.
    let (mut word, mut left) = (0_u64, 0_u32);
    loop {
        if left < 32 {
            word = bits.window_at(at);
            left = 57;
        }
        let entry = TABLE[(word >> (64 - INDEX)) as usize];
        let (a, c, len) = match entry & 0xff {
            0 => {
                // The group is longer than the index, and maybe than what is left.
                (word, left) = (bits.window_at(at), 57);
                pair(word)
            }
            len => (u64::from(entry >> 8 & 0xfff), u64::from(entry >> 20), len),
        };
        if len > 57 || at + len as usize > end {
            break;
        }
        at += len as usize;
        word <<= len;
        left = left.saturating_sub(len);
        tell(a, c);
    }
    bits.seek(at);
}
