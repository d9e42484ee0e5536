//! Protocol buffers, as much as simpleperf's features need.

/// The fields of a message; ends where there is none.
#[derive(Clone, Debug)]
pub(super) struct Message<'a> {
    rest: &'a [u8],
}

/// A field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Message<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
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
}

impl<'a> Iterator for Message<'a> {
    type Item = (u64, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_all_kinds() {
        let bytes =
            [0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0x1d, 1, 0, 0, 0, 0x21, 2, 0, 0, 0, 0, 0, 0, 0];
        let fields: Vec<_> = Message::new(&bytes).collect();
        let expected =
            [(1, Value::Number(150)), (2, Value::Bytes(b"hi")), (3, Value::Number(1)), (4, Value::Number(2))];
        assert_eq!(fields, expected);
        assert_eq!(Message::new(&bytes[..6]).count(), 1, "what is cut off is left out");
        assert_eq!(Message::new(&[0xff; 20]).count(), 0);
    }
}
