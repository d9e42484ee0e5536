//! P-headers in a row, which are most of any stream.

use tracewright_core::stream::Run;

use super::{Atoms, Packet};

/// One to eight consecutive P-headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The headers, the first lowest, and what follows them.
    word: u64,
    /// The bits of the headers.
    kept: u64,
    cycle_accurate: bool,
}

/// A byte for each of eight headers.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

impl Headers {
    /// Returns the P-headers that `word`, eight bytes of a trace, begins with; `None` if the first is none.
    #[inline(always)]
    pub(super) fn first_in(word: u64, cycle_accurate: bool) -> Option<Self> {
        // 1 in each byte that is no header: P-headers have bit 7 and no bit 0.
        let odd = word & each(0x81) ^ each(0x80);
        let two = word >> 1;
        let others = if cycle_accurate {
            // Formats 1 and 3 tell at least a cycle. Format 2 has no bits 6 to 4, format 4 only bit 4, and no bit 3.
            let run = word >> 2 | word >> 3 | word >> 4 | word >> 5 | word >> 6;
            odd | odd >> 7 | two & (word >> 6 | word >> 5 | word >> 4 & word >> 3) | !two & !run
        } else {
            odd | odd >> 7 | two & (word >> 6 | word >> 5 | word >> 4)
        };
        let others = others & each(1);
        let bits = others.trailing_zeros() & !7;
        let kept = 1_u64.checked_shl(bits).map_or(u64::MAX, |bit| bit - 1);
        (bits > 0).then_some(Self { word, kept, cycle_accurate })
    }

    /// Returns the number of headers, which is also that of bytes.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "there are no empty ones")]
    pub fn len(self) -> usize {
        8 - self.kept.leading_zeros() as usize / 8
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

    /// Returns the header with this index.
    #[inline(always)]
    pub(crate) fn header(self, index: usize) -> u8 {
        (self.word >> (8 * index)) as u8
    }

    /// Returns the numbers of instructions and of cycles.
    #[inline(always)]
    pub fn sums(self) -> Sums {
        let w = self.word;
        // 1 in each byte with format 2 or 4, and with format 4.
        let two = w >> 1 & each(1);
        let single = two & w >> 4;
        let none = w >> 6 & each(1);
        let keep = !(two * 0xff);
        let (instructions, cycles) = if self.cycle_accurate {
            let number = w >> 2 & each(7);
            let waits = w >> 5 & each(1);
            let is_run = !(waits * 0xff);
            let instructions = (number & is_run) + none;
            (instructions & keep, ((number + (none & is_run) + waits) & keep) + (two - single))
        } else {
            (((w >> 2 & each(0xf)) + none) & keep, 0)
        };
        let instructions = instructions + (2 * two - single);
        // Byte by byte, the sum of a byte and all before it.
        let [instructions, cycles] =
            [instructions, cycles].map(|sums| (sums & self.kept).wrapping_mul(each(1)));
        Sums { instructions, cycles }
    }
}

/// The numbers of instructions and of cycles in a row of P-headers: byte by byte, up to and with each header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    instructions: u64,
    cycles: u64,
}

/// A byte of a word; 0 for index -1, written as 0 of the indices that are one higher.
#[inline(always)]
const fn before(word: u64, index: usize) -> u32 {
    (word << 8 >> (8 * index)) as u32 & 0xff
}

impl Sums {
    /// Returns the number of instructions in all headers.
    #[inline(always)]
    pub fn instructions(self) -> u32 {
        (self.instructions >> 56) as u32
    }

    /// Returns the number of cycles in all headers.
    #[inline(always)]
    pub fn cycles(self) -> u32 {
        (self.cycles >> 56) as u32
    }

    /// Returns the index of the header that has an instruction, and the numbers of instructions and cycles before that header. The
    /// instruction is one of this row, and one of the first 127.
    #[inline(always)]
    pub(crate) fn header_of(self, instruction: u32) -> (usize, u32, u32) {
        let beyond = ((self.instructions | each(0x80)) - each(1) * u64::from(instruction + 1)) & each(0x80);
        let index = beyond.trailing_zeros() as usize / 8;
        (index, before(self.instructions, index), before(self.cycles, index))
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
            let Some(row) = row else { continue };
            let sums = row.sums();
            let (mut instructions, mut cycles) = (0, 0);
            for (index, (header, atoms)) in expected.iter().enumerate() {
                assert_eq!(row.header(index), *header);
                for instruction in instructions..(instructions + u32::from(atoms.count)).min(127) {
                    assert_eq!(sums.header_of(instruction), (index, instructions, cycles), "{bytes:02x?}");
                }
                instructions += u32::from(atoms.count);
                cycles += u32::from(atoms.cycles);
            }
            assert_eq!((sums.instructions(), sums.cycles()), (instructions, cycles), "{bytes:02x?}");
        }
        assert!(lengths.iter().all(|&count| count > 100), "{lengths:?}");
    }
}
