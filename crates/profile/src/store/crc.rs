//! CRC-32 as in Ethernet, zip and PNG.

static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = (sum >> 1) ^ ((sum & 1) * 0xedb8_8320);
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
}

/// The checksum of some bytes.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, &byte| sum >> 8 ^ TABLE[(sum as u8 ^ byte) as usize])
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_known_checksum_of_the_digits() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
