//! CRC-16 (polynomial 0x1021, initial value 0xffff, highest bit first) of a packet, eight bytes at a time.

const fn tables() -> [[u16; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    // Row n is for a byte with n zero bytes after it.
    let mut row = 1;
    while row < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[row - 1][byte];
            tables[row][byte] = before << 8 ^ tables[0][(before >> 8) as usize];
            byte += 1;
        }
        row += 1;
    }
    tables
}

static TABLES: [[u16; 256]; 8] = tables();

/// Returns the checksum of `bytes`.
pub(crate) fn crc16(bytes: &[u8]) -> u16 {
    let mut crc = 0xffff;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let [high, low] = u16::to_be_bytes(crc);
        crc = TABLES[7][usize::from(word[0] ^ high)]
            ^ TABLES[6][usize::from(word[1] ^ low)]
            ^ TABLES[5][usize::from(word[2])]
            ^ TABLES[4][usize::from(word[3])]
            ^ TABLES[3][usize::from(word[4])]
            ^ TABLES[2][usize::from(word[5])]
            ^ TABLES[1][usize::from(word[6])]
            ^ TABLES[0][usize::from(word[7])];
    }
    words
        .remainder()
        .iter()
        .fold(crc, |crc: u16, &byte| crc << 8 ^ TABLES[0][usize::from((crc >> 8) as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_checksum_of_the_digits() {
        assert_eq!(crc16(b"123456789"), 0x29b1);
    }

    #[test]
    fn eight_at_a_time_is_one_after_another() {
        let bytes: Vec<u8> = (0..200).map(|n: u32| (n * 37 % 251) as u8).collect();
        for len in 0..bytes.len() {
            let slow = bytes[..len].iter().fold(0xffff_u16, |crc, &byte| {
                (0..8).rev().fold(crc, |crc, bit| {
                    let one = (crc >> 15) ^ u16::from(byte >> bit & 1);
                    crc << 1 ^ if one == 1 { 0x1021 } else { 0 }
                })
            });
            assert_eq!(crc16(&bytes[..len]), slow, "{len} bytes");
        }
    }
}
