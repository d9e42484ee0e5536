/// A CRC-32 checksum, as in Ethernet, zip and PNG, of bytes that arrive in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crc32(u32);

impl Crc32 {
    /// Starts a checksum of no bytes.
    pub const fn new() -> Self {
        Self(!0)
    }

    /// Returns the checksum of `bytes`.
    pub fn of(bytes: &[u8]) -> u32 {
        Self::new().and(bytes).sum()
    }

    /// Adds bytes, eight at a time.
    #[must_use]
    pub fn and(self, bytes: &[u8]) -> Self {
        let (eights, rest) = bytes.as_chunks::<8>();
        let mut sum = self.0;
        for eight in eights {
            let word = u64::from_le_bytes(*eight) ^ u64::from(sum);
            sum = (0..8).fold(0, |sum, at| sum ^ TABLES[7 - at][(word >> (8 * at)) as usize & 0xff]);
        }
        Self(rest.iter().fold(sum, |sum, &byte| sum >> 8 ^ TABLES[0][(sum as u8 ^ byte) as usize]))
    }

    /// Returns the checksum of all bytes so far.
    pub const fn sum(self) -> u32 {
        !self.0
    }
}

impl Default for Crc32 {
    fn default() -> Self {
        Self::new()
    }
}

/// Checksums of a byte followed by 0 to 7 zeros.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = (sum >> 1) ^ ((sum & 1) * 0xedb8_8320);
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut zeros = 1;
    while zeros < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[zeros - 1][byte];
            tables[zeros][byte] = before >> 8 ^ tables[0][before as usize & 0xff];
            byte += 1;
        }
        zeros += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::Crc32;

    #[test]
    fn the_known_checksum_of_the_digits() {
        assert_eq!(Crc32::of(b"123456789"), 0xcbf4_3926);
        let pieces = Crc32::new().and(b"1234567890").and(b"").and(b"123456789");
        assert_eq!(pieces.sum(), Crc32::of(b"1234567890123456789"));
    }
}
