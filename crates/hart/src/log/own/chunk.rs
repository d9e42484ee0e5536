//! What is around each chunk, and the checksum.

/// Bytes in front of a chunk.
pub(super) const HEAD: usize = 24;
/// The most bytes in a chunk.
pub(super) const LARGEST: usize = 1 << 20;

/// What is in front of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// How many bytes of codes.
    pub codes: u32,
    /// How many bytes of what they need.
    pub data: u32,
    /// How many blocks.
    pub blocks: u32,
    /// How many instructions; in the last chunk, which is empty: of the whole log.
    pub instructions: u64,
}

impl Head {
    /// As bytes, with the checksum of them and of the chunk.
    pub fn write(&self, codes: &[u8], data: &[u8]) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[0..4].copy_from_slice(&self.codes.to_le_bytes());
        head[4..8].copy_from_slice(&self.data.to_le_bytes());
        head[8..12].copy_from_slice(&self.blocks.to_le_bytes());
        head[12..20].copy_from_slice(&self.instructions.to_le_bytes());
        let sum = crc(crc(crc(!0, &head[..20]), codes), data);
        head[20..].copy_from_slice(&(!sum).to_le_bytes());
        head
    }

    pub fn read(head: &[u8; HEAD]) -> Self {
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        Self {
            codes: word(0),
            data: word(4),
            blocks: word(8),
            instructions: u64::from(word(12)) | u64::from(word(16)) << 32,
        }
    }

    /// Whether `head` and `chunk` are as they were written.
    pub fn is_sound(head: &[u8; HEAD], chunk: &[u8]) -> bool {
        (!crc(crc(!0, &head[..20]), chunk)).to_le_bytes() == head[20..]
    }
}

/// CRC-32 as in Ethernet, eight bytes at a time.
fn crc(mut sum: u32, bytes: &[u8]) -> u32 {
    let (eights, rest) = bytes.as_chunks::<8>();
    for eight in eights {
        let word = u64::from_le_bytes(*eight) ^ u64::from(sum);
        sum = (0..8).fold(0, |sum, at| sum ^ TABLES[7 - at][(word >> (8 * at)) as usize & 0xff]);
    }
    rest.iter().fold(sum, |sum, &byte| sum >> 8 ^ TABLES[0][(sum as u8 ^ byte) as usize])
}

/// Of a byte that is followed by 0 to 7 zeros.
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
    use super::crc;

    #[test]
    fn crc_of_the_check_string() {
        assert_eq!(!crc(!0, b"123456789"), 0xcbf4_3926);
        assert_eq!(crc(crc(!0, b"1234567890"), b"123456789"), crc(!0, b"1234567890123456789"));
    }
}
