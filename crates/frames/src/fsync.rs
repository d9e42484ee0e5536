/// The full frame sync.
pub(crate) const FSYNC: [u8; 4] = [0xff, 0xff, 0xff, 0x7f];

/// The half sync, which is also the second half of an FSYNC.
pub(crate) const HSYNC: [u8; 2] = [0xff, 0x7f];

/// A search for FSYNCs, byte by byte, at any alignment.
#[derive(Clone, Debug, Default)]
pub(crate) struct FsyncFinder {
    /// Offsets of the last three bytes, as far as they were FF. Kept one by one, since a container's footer may lie
    /// between them.
    ff: [u64; 3],
    /// Number of FF bytes just before the next byte, at most 3.
    count: u8,
}

impl FsyncFinder {
    /// Accepts the byte at `offset`. Returns the offset of the FSYNC that it completes.
    pub(crate) fn push(&mut self, byte: u8, offset: u64) -> Option<u64> {
        if byte == 0xff {
            self.ff = [self.ff[1], self.ff[2], offset];
            self.count = (self.count + 1).min(3);
            return None;
        }
        let found = byte == 0x7f && self.count == 3;
        self.count = 0;
        found.then_some(self.ff[0])
    }

    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: Option<u64>) {
        let mut finder = FsyncFinder::default();
        let found = (0..).zip(bytes).find_map(|(offset, &byte)| finder.push(byte, offset));
        assert_eq!(found, expected, "{bytes:02x?}");
    }

    #[test]
    fn any_alignment_and_any_number_of_ff_before() {
        check(&[0xff, 0xff, 0xff, 0x7f], Some(0));
        check(&[0x00, 0xff, 0xff, 0xff, 0x7f], Some(1));
        check(&[0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], Some(2));
        check(&[0xff, 0xff, 0x00, 0xff, 0x7f, 0x7f], None);
    }
}
