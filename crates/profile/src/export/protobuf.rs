//! Writer of Protocol Buffers messages, for pprof, Perfetto and simpleperf. `core::protobuf` reads them.

use crate::store::varint::put;

/// A message under construction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Appends a number field.
    pub fn number(&mut self, field: u32, value: u64) {
        put(&mut self.0, u64::from(field) << 3);
        put(&mut self.0, value);
    }

    /// Appends a number field unless it is 0, which readers assume for missing fields.
    pub fn nonzero(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.number(field, value);
        }
    }

    /// Appends a field with text or bytes.
    pub fn bytes(&mut self, field: u32, bytes: &[u8]) {
        put(&mut self.0, u64::from(field) << 3 | 2);
        put(&mut self.0, bytes.len() as u64);
        self.0.extend(bytes);
    }

    /// Appends a nested message.
    pub fn message(&mut self, field: u32, message: &Self) {
        self.bytes(field, &message.0);
    }

    /// Appends a packed list of numbers.
    pub fn packed(&mut self, field: u32, values: impl Iterator<Item = u64>) {
        let mut packed = Self::default();
        values.for_each(|value| put(&mut packed.0, value));
        self.message(field, &packed);
    }

    /// Returns all fields so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Removes all fields.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the examples of the format's documentation.
    #[test]
    fn fields_are_those_of_the_documentation() {
        let mut message = Writer::default();
        message.number(1, 150);
        message.bytes(2, b"testing");
        message.packed(6, [3, 270, 86942].into_iter());
        message.nonzero(7, 0);
        assert_eq!(message.as_bytes(), b"\x08\x96\x01\x12\x07testing\x32\x06\x03\x8e\x02\x9e\xa7\x05");
    }
}
