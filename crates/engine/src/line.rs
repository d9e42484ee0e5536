use std::fmt;

/// A line under construction. Most of the time of listing packets goes into printing, and most of that into `write!`. So numbers are
/// written by hand here.
#[derive(Debug, Default)]
pub struct Line {
    bytes: Vec<u8>,
    unlisted: u64,
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

impl Line {
    /// Empties the line. What is not listed in it still counts.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Removes all but the first `len` bytes.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// Returns the bytes of the line.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Counts instructions that ran and cannot be listed, because their code is not known.
    #[inline]
    pub fn leave_out(&mut self, instructions: u64) {
        self.unlisted += instructions;
    }

    /// Returns the number of instructions that ran and are not listed.
    #[inline]
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// Appends text.
    #[inline]
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.bytes.extend_from_slice(text.as_bytes());
        self
    }

    /// Appends bytes.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends blanks.
    #[inline]
    pub fn blanks(&mut self, count: usize) -> &mut Self {
        const BLANKS: [u8; 32] = [b' '; 32];
        match BLANKS.get(..count) {
            Some(blanks) => self.bytes.extend_from_slice(blanks),
            None => self.bytes.resize(self.bytes.len() + count, b' '),
        }
        self
    }

    /// Appends the numbers of the bits that are set, as a JSON array.
    pub fn bit_numbers(&mut self, bits: u8) -> &mut Self {
        let mut separator = "[";
        for bit in (0..u8::BITS).filter(|bit| bits >> bit & 1 == 1) {
            self.text(separator).decimal(bit.into());
            separator = ",";
        }
        self.text(if bits == 0 { "[]" } else { "]" })
    }

    /// Appends a byte as two hexadecimal digits.
    #[inline]
    pub fn hex_byte(&mut self, byte: u8) -> &mut Self {
        self.bytes.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 0xf)]]);
        self
    }

    /// Appends `0x` and the hexadecimal digits of the number, right-aligned in `width` columns.
    #[inline]
    pub fn hex(&mut self, value: u64, width: usize) -> &mut Self {
        const MOST: usize = 18;
        let mut text = [b' '; MOST];
        let mut at = MOST;
        let mut left = value;
        loop {
            at -= 1;
            text[at] = DIGITS[left as usize & 0xf];
            left >>= 4;
            if left == 0 {
                break;
            }
        }
        text[at - 2..at].copy_from_slice(b"0x");
        if width > MOST {
            self.blanks(width - MOST);
        }
        self.bytes.extend_from_slice(&text[(at - 2).min(MOST - width.min(MOST))..]);
        self
    }

    /// Appends a decimal number.
    #[inline]
    pub fn decimal(&mut self, mut value: u64) -> &mut Self {
        let mut digits = [0; 20];
        let mut at = digits.len();
        // Two digits with one division.
        while value >= 10 {
            at -= 2;
            let two = (value % 100) as u8;
            digits[at..at + 2].copy_from_slice(&[b'0' + two / 10, b'0' + two % 10]);
            value /= 100;
        }
        if value > 0 || at == digits.len() {
            at -= 1;
            digits[at] = b'0' + value as u8;
        }
        self.bytes.extend_from_slice(&digits[at..]);
        self
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_format_makes_of_them() {
        for value in [0, 1, 9, 10, 0xf, 0x10, 99, 100, 0xabc, 12_345, u64::from(u32::MAX), u64::MAX] {
            let mut line = Line::default();
            line.hex(value, 10)
                .text(" ")
                .hex(value, 20)
                .text(" ")
                .hex(value, 0)
                .text(" ")
                .decimal(value)
                .text(" ")
                .hex_byte(value as u8);
            let expected = format!("{value:#10x} {value:#20x} {value:#x} {value} {:02x}", value as u8);
            assert_eq!(line.bytes(), expected.as_bytes());
        }
    }
}
