//! Lines of bounded length, and their parser.

use std::io::{self, BufRead};

use super::LineProblem;

/// Maximum length of a line. Spike's lines of vector instructions have a few thousand bytes.
const LONGEST: usize = 1 << 16;

/// Lines of a file, one at a time, in one buffer.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    number: u64,
    /// Set if the rest of a line that is too long is not read yet.
    is_inside: bool,
}

impl<R: BufRead> Lines<R> {
    pub fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), number: 0, is_inside: false }
    }

    /// Returns the number of the last line, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn line(&self) -> &[u8] {
        &self.buffer
    }

    /// Reads the next line without its end. Returns `false` at the end of the file.
    pub fn advance(&mut self) -> Result<bool, LineProblem> {
        self.buffer.clear();
        self.number += 1;
        loop {
            let bytes = match self.input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(LineProblem::Io(error)),
            };
            if bytes.is_empty() {
                return Ok(!self.buffer.is_empty());
            }
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            let used = piece.len() + usize::from(end.is_some());
            let is_too_long = self.buffer.len() + piece.len() > LONGEST;
            if !is_too_long && !self.is_inside {
                self.buffer.extend_from_slice(piece);
            }
            self.input.consume(used);
            if self.is_inside {
                self.is_inside = end.is_none();
            } else if is_too_long {
                self.is_inside = end.is_none();
                return Err(LineProblem::TooLong(LONGEST));
            } else if end.is_some() {
                if self.buffer.last() == Some(&b'\r') {
                    self.buffer.pop();
                }
                return Ok(true);
            }
        }
    }
}

/// Parser of a line. What does not match is left in place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan<'a>(pub &'a [u8]);

impl<'a> Scan<'a> {
    pub fn spaces(&mut self) {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.0 = &self.0[count..];
    }

    /// Consumes `text` if it is next.
    pub fn eat(&mut self, text: &str) -> bool {
        let rest = self.0.strip_prefix(text.as_bytes());
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    pub fn decimal(&mut self) -> Option<u64> {
        self.number::<10>()
    }

    pub fn digits(&mut self) -> Option<u64> {
        self.number::<16>()
    }

    /// Parses a number of at most 64 bits; leading zeros may exceed that.
    fn number<const RADIX: u32>(&mut self) -> Option<u64> {
        let (mut rest, mut value) = (self.0, 0_u64);
        while let Some(digit) = rest.first().and_then(|&byte| char::from(byte).to_digit(RADIX)) {
            value = value.checked_mul(RADIX.into())?.checked_add(digit.into())?;
            rest = &rest[1..];
        }
        let has_digits = rest.len() < self.0.len();
        self.0 = rest;
        has_digits.then_some(value)
    }

    /// Parses `0x` and hexadecimal digits.
    pub fn hex(&mut self) -> Option<u64> {
        let mut rest = Scan(self.0.strip_prefix(b"0x")?);
        let value = rest.digits()?;
        *self = rest;
        Some(value)
    }

    /// Returns the text up to the next space or the end, and consumes the spaces after it.
    pub fn word(&mut self) -> &'a [u8] {
        let len = self.0.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        let (word, rest) = self.0.split_at(len);
        self.0 = rest;
        self.spaces();
        word
    }
}
