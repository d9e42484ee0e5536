//! A reader of Protocol Buffers messages, field by field. simpleperf writes such messages.

use core::fmt;

/// An iterator over the number and value of each field of a message. It ends after the first error.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    rest: &'a [u8],
}

/// A field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number, of variable or fixed length.
    Number(u64),
    /// Bytes, which may be text or a message.
    Bytes(&'a [u8]),
}

/// An error: the bytes are not a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoField;

impl fmt::Display for NoField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("malformed protobuf field")
    }
}

impl core::error::Error for NoField {}

impl<'a> Message<'a> {
    /// Creates an iterator over the fields in `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(len).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let key = self.number()?;
        let fixed = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        let value = match key & 7 {
            0 => Value::Number(self.number()?),
            1 => Value::Number(fixed(self.take(8)?)),
            2 => {
                let len = self.number()?;
                Value::Bytes(self.take(len)?)
            }
            5 => Value::Number(fixed(self.take(4)?)),
            _ => return None,
        };
        Some((key >> 3, value))
    }
}

impl<'a> Iterator for Message<'a> {
    type Item = Result<(u64, Value<'a>), NoField>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field().ok_or(NoField);
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_all_kinds() {
        let bytes =
            [0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0x1d, 1, 0, 0, 0, 0x21, 2, 0, 0, 0, 0, 0, 0, 0];
        let expected =
            [(1, Value::Number(150)), (2, Value::Bytes(b"hi")), (3, Value::Number(1)), (4, Value::Number(2))];
        assert!(Message::new(&bytes).eq(expected.map(Ok)));
        let cut_off = [Ok(expected[0]), Err(NoField)];
        assert!(Message::new(&bytes[..6]).eq(cut_off), "what is cut off is said, and ends it");
        assert!(Message::new(&[0xff; 20]).eq([Err(NoField)]));
        assert!(Message::new(&[]).next().is_none());
    }
}
