//! Messages of Protocol Buffers, written: what pprof, Perfetto and simpleperf read. `core::protobuf` reads them.

/// A message, as it becomes longer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// A number as a field.
    pub fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    /// The same, but 0 is left out: readers take what is missing for that.
    pub fn nonzero(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.number(field, value);
        }
    }

    /// Text, or bytes of any kind.
    pub fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    /// A message within this one.
    pub fn message(&mut self, field: u32, message: &Self) {
        self.bytes(field, &message.0);
    }

    /// A list of numbers.
    pub fn packed(&mut self, field: u32, values: impl Iterator<Item = u64>) {
        let mut packed = Self::default();
        values.for_each(|value| packed.varint(value));
        self.message(field, &packed);
    }

    /// All fields so far.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Without any field, as it was at first.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the format's own documentation.
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
