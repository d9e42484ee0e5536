//! P-headers in a row, which are most of any stream.

use tracewright_core::stream::Run;

use super::{Atoms, Packet};

/// One to eight consecutive P-headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The headers, the first lowest. The bytes above the last are 0, which no header is.
    word: u64,
    cycle_accurate: bool,
}

/// A byte for each of eight headers.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Sets bit 7 of each byte that is 0.
const fn zeros(word: u64) -> u64 {
    !(((word & each(0x7f)) + each(0x7f)) | word) & each(0x80)
}

impl Headers {
    /// Returns the P-headers that `word`, eight bytes of a trace, begins with; `None` if the first is none.
    #[inline(always)]
    pub(super) fn first_in(word: u64, cycle_accurate: bool) -> Option<Self> {
        // Formats 1 and 3, which in cycle-accurate mode tell at least a cycle; format 2; format 4.
        let empty = if cycle_accurate { zeros(word & each(0x7c)) } else { 0 };
        let runs = zeros(word & each(0x83) ^ each(0x80)) & !empty;
        let pairs = zeros(word & each(0xf3) ^ each(0x82));
        let singles = if cycle_accurate { zeros(word & each(0xfb) ^ each(0x92)) } else { 0 };
        let others = !(runs | pairs | singles) & each(0x80);
        let bits = others.trailing_zeros() & !7;
        let kept = 1_u64.checked_shl(bits).map_or(u64::MAX, |bit| bit - 1);
        (bits > 0).then_some(Self { word: word & kept, cycle_accurate })
    }

    /// Returns the number of headers, which is also that of bytes.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "there are no empty ones")]
    pub fn len(self) -> usize {
        8 - self.word.leading_zeros() as usize / 8
    }

    /// Returns the headers.
    #[inline(always)]
    pub fn iter(self) -> impl Iterator<Item = u8> {
        self.word.to_le_bytes().into_iter().take(self.len())
    }

    /// Returns whether they tell cycles.
    #[inline(always)]
    pub fn cycle_accurate(self) -> bool {
        self.cycle_accurate
    }

    /// Returns the atoms of a header.
    #[inline(always)]
    pub fn atoms(self, header: u8) -> Atoms {
        ATOMS[usize::from(self.cycle_accurate)][usize::from(header >> 1 & 0x3f)]
    }
}

impl Run<Packet> for Headers {
    #[inline]
    fn each(self, offset: u64, mut take: impl FnMut(u64, &[u8], &Packet)) {
        for (offset, header) in (offset..).zip(self.iter()) {
            take(offset, &[header], &Packet::Atoms(self.atoms(header)));
        }
    }
}

/// The atoms of headers by bits 6 to 1, without cycles and with them. Bytes that are no header have none.
static ATOMS: [[Atoms; 64]; 2] = {
    let mut tables = [[Atoms::NONE; 64]; 2];
    let mut index = 0;
    while index < 128 {
        let header = 0x80 | (index as u8 & 0x3f) << 1;
        let mode = index >> 6;
        if let Some(atoms) = Atoms::of_header(header, mode == 1) {
            tables[mode][index & 0x3f] = atoms;
        }
        index += 1;
    }
    tables
};

#[cfg(test)]
mod tests {
    use tracewright_testkit::Rng;

    use super::*;

    #[test]
    fn rows_end_at_the_first_byte_that_is_no_header() {
        let mut rng = Rng::new(1);
        let mut lengths = [0; 9];
        for round in 0..20_000 {
            let cycle_accurate = round % 2 == 1;
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&rng.bytes(8));
            // Every byte comes first once; most others are headers.
            bytes.iter_mut().for_each(|byte| *byte |= if rng.one_in(8) { 0 } else { 0x80 });
            bytes.iter_mut().for_each(|byte| *byte &= if rng.one_in(8) { 0xff } else { 0xfc });
            bytes[0] = (round / 2) as u8;
            let expected: Vec<_> = bytes
                .iter()
                .map_while(|&header| Some((header, Atoms::of_header(header, cycle_accurate)?)))
                .collect();
            lengths[expected.len()] += 1;
            let row = Headers::first_in(u64::from_le_bytes(bytes), cycle_accurate);
            let found: Vec<_> =
                row.iter().flat_map(|row| row.iter().map(|header| (header, row.atoms(header)))).collect();
            assert_eq!(found, expected, "{bytes:02x?}, cycle-accurate: {cycle_accurate}");
            assert_eq!(row.map_or(0, Headers::len), expected.len());
        }
        assert!(lengths.iter().all(|&count| count > 100), "{lengths:?}");
    }
}
