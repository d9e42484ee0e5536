//! Text from untrusted files, such as symbols, paths and names, made safe to print.

use core::fmt::{self, Write};

/// Returns whether a character must not be printed as it is.
///
/// These are control characters (C0, DEL, C1), which steer terminals and end lines; line and paragraph separators;
/// marks that reorder text (bidirectional controls); and two code points that XML forbids (U+FFFE, U+FFFF).
#[must_use]
pub const fn is_unprintable(letter: char) -> bool {
    matches!(
        letter,
        '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{fffe}'..='\u{ffff}'
    )
}

/// Returns whether `text` prints as it is.
#[must_use]
pub fn is_printable(text: &str) -> bool {
    // Most text is ASCII, which is quick to check.
    text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.contains(is_unprintable)
}

/// Returns whether `bytes` are nothing but printable ASCII, tabs and newlines: nearly all text is, and this is quick to check.
#[must_use]
pub fn is_plain(bytes: &[u8]) -> bool {
    let is_odd = |byte: u8| !matches!(byte, b' '..=b'~') & (byte != b'\n') & (byte != b'\t');
    bytes.chunks(64).all(|chunk| !chunk.iter().fold(false, |any, &byte| any | is_odd(byte)))
}

/// Text that is printed with each [unprintable](is_unprintable) character escaped: `\x1b`, `\u{202e}`.
///
/// A width and an alignment apply only if nothing is escaped: use `to_string` first where columns matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printable<'t>(pub &'t str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_printable(self.0) {
            return f.pad(self.0);
        }
        for letter in self.0.chars() {
            match letter {
                _ if !is_unprintable(letter) => f.write_char(letter)?,
                '\0'..='\x7f' => write!(f, "\\x{:02x}", u32::from(letter))?,
                _ => write!(f, "\\u{{{:x}}}", u32::from(letter))?,
            }
        }
        Ok(())
    }
}

/// A number with its digits in groups of three: `1 234 567`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouped(pub u128);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut unit, mut rest) = (1, self.0);
        while rest / unit >= 1000 {
            unit *= 1000;
        }
        write!(f, "{}", rest / unit)?;
        while unit > 1 {
            rest %= unit;
            unit /= 1000;
            write!(f, " {:03}", rest / unit)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;
    use std::string::ToString;

    use super::*;

    #[test]
    fn what_steers_a_terminal_or_ends_a_line_is_escaped() {
        let table = [
            ("main", "main"),
            ("caf\u{e9} \u{5e9}\u{5dc}", "caf\u{e9} \u{5e9}\u{5dc}"),
            ("\x1b[31m", "\\x1b[31m"),
            ("a\nb\tc\r\0", "a\\x0ab\\x09c\\x0d\\x00"),
            ("\x7f\u{85}\u{9b}\u{9f}\u{a0}", "\\x7f\\u{85}\\u{9b}\\u{9f}\u{a0}"),
            ("\u{202e}\u{2066}\u{200f}\u{61c}", "\\u{202e}\\u{2066}\\u{200f}\\u{61c}"),
            ("\u{2028}\u{2029}\u{ffff}", "\\u{2028}\\u{2029}\\u{ffff}"),
            ("\u{2027}\u{202f}\u{206a}\u{fffd}", "\u{2027}\u{202f}\u{206a}\u{fffd}"),
        ];
        for (text, shown) in table {
            assert_eq!(Printable(text).to_string(), shown);
            assert_eq!(is_printable(text), text == shown);
        }
        assert_eq!(format!("{:>6}|", Printable("main")), "  main|");
    }

    #[test]
    fn what_is_escaped_is_printable() {
        for letter in '\0'..=char::MAX {
            let mut bytes = [0; 4];
            assert!(is_printable(&Printable(letter.encode_utf8(&mut bytes)).to_string()), "{letter:?}");
        }
    }
}
