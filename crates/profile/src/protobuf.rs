//! Messages of Protocol Buffers, written; `core::protobuf` reads them.

/// A message in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writer(pub Vec<u8>);

impl Writer {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    /// A number that is left out if it is 0: readers take it for that.
    pub fn nonzero(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.number(field, value);
        }
    }

    pub fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    pub fn message(&mut self, field: u32, message: &Self) {
        self.bytes(field, &message.0);
    }

    pub fn packed(&mut self, field: u32, values: impl Iterator<Item = u64>) {
        let mut packed = Self::default();
        values.for_each(|value| packed.varint(value));
        self.message(field, &packed);
    }
}
