//! Damage of the kinds that hostile files have: flipped bits, parts cut, doubled and swapped, extreme numbers, replaced
//! words of a text, spliced files.

use std::ops::Range;

use crate::Rng;

/// Numbers that readers trip over.
const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    1 << 36,
    0x7fff_ffff_ffff_ffff,
    1 << 63,
    u64::MAX - 7,
    u64::MAX,
];

/// Words that readers of text trip over. None of them names an existing file or a device.
pub const WORDS: &[&str] = &[
    "",
    "0",
    "-1",
    "1",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0x0",
    "0x",
    "0xffffffffffffffff",
    "0x10000000000000000",
    "1e308",
    "nan",
    "inf",
    "true",
    "''",
    "\"\"",
    "[]",
    "{}",
    "[",
    "\"",
    "=",
    ",",
    ";",
    "..",
    "/",
    "../../../../nowhere",
    "%s%n",
    "\u{e9}\u{202e}x",
    "\u{1b}[31mred\u{7}",
    "a\nb",
    "\\x00",
    "main",
];

/// Changes bytes of a binary file in one to six places. Parts may be taken from `other`.
pub fn damage_bytes(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..1 + rng.below(6) {
        let part = part(rng, bytes.len());
        match rng.below(9) {
            0..=2 if part.start < bytes.len() => bytes[part.start] ^= 1 << rng.below(8),
            3 if part.start < bytes.len() => bytes[part.start] = rng.next_u64() as u8,
            4 => set_number(rng, bytes, part.start),
            5 => double_or_drop(rng, bytes, part),
            6 if part.end <= bytes.len() && !part.is_empty() => {
                let to = rng.below((bytes.len() - part.len() + 1) as u64) as usize;
                bytes.copy_within(part, to);
            }
            7 => splice(rng, bytes, part, other),
            8 if rng.one_in(3) => bytes.truncate(part.start),
            _ => {}
        }
    }
}

/// Changes words and lines of a text file in one to four places.
pub fn damage_text(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..1 + rng.below(4) {
        let words = words(bytes);
        let lines = lines(bytes);
        match rng.below(8) {
            0..=2 if !words.is_empty() => {
                let word = rng.pick(&words).clone();
                drop(bytes.splice(word, rng.pick(WORDS).bytes()));
            }
            3 if !words.is_empty() => {
                let (one, two) = (rng.pick(&words).clone(), rng.pick(&words).clone());
                let text = bytes[one].to_vec();
                drop(bytes.splice(two, text));
            }
            4 if !lines.is_empty() => drop(bytes.drain(rng.pick(&lines).clone())),
            5 if !lines.is_empty() => {
                let line = bytes[rng.pick(&lines).clone()].to_vec();
                let at = rng.pick(&lines).start;
                drop(bytes.splice(at..at, line));
            }
            6 if !lines.is_empty() => {
                let line = rng.pick(&lines).clone();
                let from = self::lines(other);
                if !from.is_empty() {
                    let text = other[rng.pick(&from).clone()].to_vec();
                    drop(bytes.splice(line, text));
                }
            }
            _ => damage_bytes(rng, bytes, other),
        }
    }
}

/// Returns a random range of a file, more often near the start.
fn part(rng: &mut Rng, len: usize) -> Range<usize> {
    let near = if rng.one_in(2) { len.min(256) } else { len };
    let start = rng.below(near as u64 + 1) as usize;
    start..len.min(start + rng.sized(10) as usize)
}

/// Overwrites a number of one to eight bytes, in either byte order.
fn set_number(rng: &mut Rng, bytes: &mut [u8], at: usize) {
    let width = 1 << rng.below(4);
    let at = if rng.one_in(2) { at & !(width - 1) } else { at };
    let number = rng.pick(&NUMBERS).wrapping_sub(rng.below(2));
    if let Some(slot) = bytes.get_mut(at..at + width) {
        let number = number.to_le_bytes();
        slot.copy_from_slice(&number[..width]);
        if rng.one_in(8) {
            slot.reverse();
        }
    }
}

fn double_or_drop(rng: &mut Rng, bytes: &mut Vec<u8>, part: Range<usize>) {
    if rng.one_in(2) {
        let copy = bytes[part.clone()].to_vec();
        drop(bytes.splice(part.start..part.start, copy));
    } else {
        drop(bytes.drain(part));
    }
}

fn splice(rng: &mut Rng, bytes: &mut Vec<u8>, part: Range<usize>, other: &[u8]) {
    let from = self::part(rng, other.len());
    let tail = if rng.one_in(4) { part.start..bytes.len() } else { part };
    drop(bytes.splice(tail, other[from].iter().copied()));
}

/// Returns the words of a text: letters, digits and what occurs inside names and numbers.
fn words(text: &[u8]) -> Vec<Range<usize>> {
    let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let mut words = Vec::new();
    let mut start = None;
    for (at, byte) in text.iter().enumerate() {
        match (is_inside(byte), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    words.extend(start.map(|from| from..text.len()));
    words
}

/// Returns the lines of a text, each with its end.
fn lines(text: &[u8]) -> Vec<Range<usize>> {
    let mut at = 0;
    text.split_inclusive(|&byte| byte == b'\n')
        .map(|line| {
            at += line.len();
            at - line.len()..at
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Damage is deterministic, and nearly always changes something.
    #[test]
    fn the_same_seed_does_the_same_damage() {
        let good = b"name = \"hart0\"\nid = 3\n[source]\n".repeat(4);
        let mut unchanged = 0;
        for seed in 0..500 {
            for damage in [damage_bytes, damage_text] {
                let (mut one, mut two) = (good.clone(), good.clone());
                damage(&mut Rng::new(seed), &mut one, b"other = 1\n");
                damage(&mut Rng::new(seed), &mut two, b"other = 1\n");
                assert_eq!(one, two);
                unchanged += u32::from(one == good);
            }
        }
        assert!(unchanged < 100, "{unchanged}");
    }

    #[test]
    fn nothing_can_be_damaged_too() {
        for seed in 0..200 {
            for damage in [damage_bytes, damage_text] {
                damage(&mut Rng::new(seed), &mut Vec::new(), &[]);
            }
        }
    }
}
