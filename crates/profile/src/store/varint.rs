//! Variable-length numbers (LEB128) and differences.

use super::{Damage, Reason};

/// Appends a number: seven bits in each byte, the lowest first. All bytes but the last have the highest bit set.
pub fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a signed difference in zigzag form, so that small ones are short.
pub fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put(bytes, (number << 1 ^ number >> 63) as u64);
}

/// Reads numbers from bytes and tracks the offset.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    /// Remaining bytes.
    pub bytes: &'a [u8],
    /// Offset of the first of them in the file.
    pub offset: u64,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { bytes, offset }
    }

    /// Creates an error at the current offset.
    pub fn damage(&self, reason: Reason) -> Damage {
        Damage { offset: self.offset, reason }
    }

    pub fn take(&mut self, len: u64) -> Result<&'a [u8], Damage> {
        let split = usize::try_from(len).ok().and_then(|len| self.bytes.split_at_checked(len));
        let Some((taken, rest)) = split else {
            let end = self.offset + self.bytes.len() as u64;
            return Err(Damage { offset: end, reason: Reason::Ends });
        };
        self.bytes = rest;
        self.offset += len;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8, Damage> {
        Ok(self.take(1)?[0])
    }

    pub fn number(&mut self) -> Result<u64, Damage> {
        let start = self.offset;
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // Ten bytes hold 70 bits, and a final 0 byte is redundant.
            if bits << shift >> shift != bits || byte == 0 && shift > 0 {
                return Err(Damage { offset: start, reason: Reason::Number });
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Damage { offset: start, reason: Reason::Number })
    }

    pub fn signed(&mut self) -> Result<i64, Damage> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Reads a number that must fit into `T`.
    pub fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Damage> {
        let offset = self.offset;
        T::try_from(self.number()?).map_err(|_| Damage { offset, reason: Reason::Number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_written_and_in_one_way_only() {
        for number in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::MAX >> 1, u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            put_signed(&mut bytes, number as i64);
            let mut cursor = Cursor::new(&bytes, 0);
            assert_eq!(cursor.number(), Ok(number));
            assert_eq!(cursor.signed(), Ok(number as i64));
            assert!(cursor.bytes.is_empty());
        }
        let wrong = |bytes: &[u8]| Cursor::new(bytes, 5).number().unwrap_err();
        assert_eq!(wrong(&[0x80, 0]), Damage { offset: 5, reason: Reason::Number });
        assert_eq!(wrong(&[0x80]), Damage { offset: 6, reason: Reason::Ends });
        assert_eq!(wrong(&[0xff; 11]), Damage { offset: 5, reason: Reason::Number });
        let beyond = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(wrong(&beyond), Damage { offset: 5, reason: Reason::Number });
    }
}
