use core::fmt;

use super::Kind;

/// A sequence of atoms, oldest first. Each atom says whether one P0 instruction was executed (E: a branch was taken)
/// or not (N).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Atoms {
    /// Atoms as bits: bit 0 is the oldest, 1 is E.
    pub bits: u32,
    /// Number of atoms: 0 to 24.
    pub count: u8,
}

impl Atoms {
    /// The empty sequence.
    pub const NONE: Self = Self { bits: 0, count: 0 };

    /// Creates a single atom.
    pub const fn one(taken: bool) -> Self {
        Self { bits: taken as u32, count: 1 }
    }

    /// Returns the atoms of an atom packet (headers 0xC0-0xFF).
    #[inline]
    pub(crate) fn of_packet(header: u8) -> Self {
        PATTERNS[usize::from(header & 0x3f)]
    }

    /// Returns the header of the atom packet with exactly these atoms, if there is one. It is unique.
    pub const fn header(self) -> Option<u8> {
        let count = if self.count < 31 { self.count } else { 31 };
        let all = (1u32 << count).wrapping_sub(1);
        let bits = self.bits & all;
        Some(match (self.count, bits) {
            (1, _) => 0xf6 | bits as u8,
            (2, _) => 0xd8 | bits as u8,
            (3, _) => 0xf8 | bits as u8,
            (4, 0b1110) => 0xdc,
            (4, 0b0000) => 0xdd,
            (4, 0b1010) => 0xde,
            (4, 0b0101) => 0xdf,
            (5, 0b11110) => 0xf5,
            (5, 0b00000) => 0xd5,
            (5, 0b01010) => 0xd6,
            (5, 0b10101) => 0xd7,
            (4..=24, _) if bits == all => 0xc0 | (self.count - 4),
            (4..=24, _) if bits == all >> 1 => 0xe0 | (self.count - 4),
            _ => return None,
        })
    }

    /// Returns the atoms, oldest first, true for E.
    pub fn iter(self) -> impl Iterator<Item = bool> {
        (0..self.count).map(move |i| self.bits >> i & 1 == 1)
    }

    /// Returns the atom packet format, of six, for these atoms.
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        // Four and five atoms are F4 and F5, unless they start with EEE, which only F6 does.
        let f6 = u8::from(self.bits & 0b111 == 0b111) << 5;
        KINDS[usize::from((self.count | f6) & 0x3f)]
    }
}

/// Formats by number of atoms, plus 32 if the first three are E.
static KINDS: [Kind; 64] = {
    let mut table = [Kind::AtomF6; 64];
    let mut f6 = 0;
    while f6 < 64 {
        table[f6] = Kind::AtomF1;
        table[f6 + 1] = Kind::AtomF1;
        table[f6 + 2] = Kind::AtomF2;
        table[f6 + 3] = Kind::AtomF3;
        f6 += 32;
    }
    table[4] = Kind::AtomF4;
    table[5] = Kind::AtomF5;
    table
};

impl Atoms {
    /// Writes one letter per atom, oldest first.
    pub(super) fn write(self, out: &mut impl fmt::Write) -> fmt::Result {
        let mut letters = [0; 32];
        for (letter, taken) in letters.iter_mut().zip(self.iter()) {
            *letter = if taken { b'E' } else { b'N' };
        }
        out.write_str(core::str::from_utf8(&letters[..usize::from(self.count.min(32))]).unwrap_or_default())
    }
}

/// One to four consecutive atom packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomRun(u32);

impl AtomRun {
    /// Returns the atom packets that `word`, eight bytes of a trace, begins with. The first byte must be an atom
    /// packet.
    #[inline(always)]
    pub(super) fn first_in(word: u64) -> Self {
        // A packet is a byte of 0xc0 or more. Marks the first byte that is not one, and the fifth byte.
        let others = !(word & word << 1) & 0x8080_8080 | 1 << 39;
        let len = others.trailing_zeros() / 8;
        Self((word & ((1 << (8 * len)) - 1)) as u32)
    }

    /// Returns the number of packets, which is also that of bytes.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "there are no empty ones")]
    pub fn len(self) -> usize {
        4 - self.0.leading_zeros() as usize / 8
    }

    /// Returns a number that identifies these packets.
    #[inline(always)]
    pub fn code(self) -> u32 {
        self.0
    }

    /// Returns the header, which is the whole packet, and the atoms of each packet.
    pub fn packets(self) -> impl Iterator<Item = (u8, Atoms)> {
        let headers = self.0.to_le_bytes().into_iter().take(self.len());
        headers.map(|header| (header, Atoms::of_packet(header)))
    }
}

/// Writes one letter per atom, oldest first: `EEN`.
impl fmt::Display for Atoms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl fmt::Debug for Atoms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Atoms({self})")
    }
}

/// The atoms of headers 0xC0 to 0xFF.
static PATTERNS: [Atoms; 64] = {
    let mut table = [Atoms::NONE; 64];
    let mut i = 0;
    while i < 64 {
        table[i] = pattern(0xc0 | i as u8);
        i += 1;
    }
    table
};

/// Returns the atoms of a header (section "Atom instruction trace packets", formats 1 to 6).
const fn pattern(header: u8) -> Atoms {
    let (bits, count) = match header {
        0xf6..=0xf7 => (header as u32 & 1, 1),
        0xd8..=0xdb => (header as u32 & 0b11, 2),
        0xf8..=0xff => (header as u32 & 0b111, 3),
        0xdc => (0b1110, 4),
        0xdd => (0b0000, 4),
        0xde => (0b1010, 4),
        0xdf => (0b0101, 4),
        0xf5 => (0b11110, 5),
        0xd5 => (0b00000, 5),
        0xd6 => (0b01010, 5),
        0xd7 => (0b10101, 5),
        // Format 6: 3 to 23 E's, then E or, with bit 5 set, N.
        _ => {
            let leading = (header & 0x1f) as u32 + 3;
            let last = if header & 0x20 == 0 { 1 << leading } else { 0 };
            (((1 << leading) - 1) | last, leading as u8 + 1)
        }
    };
    Atoms { bits, count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_atom_header_and_its_atoms_are_one_to_one() {
        for header in 0xc0..=0xff {
            let atoms = Atoms::of_packet(header);
            assert_eq!(atoms.header(), Some(header), "{header:#x} {atoms}");
            assert_eq!(atoms.kind(), super::super::header::ungated_kind(header), "{header:#x} {atoms}");
        }
    }

    #[test]
    fn patterns_without_a_packet_have_no_header() {
        assert_eq!(Atoms { bits: 0b0011, count: 4 }.header(), None);
        assert_eq!(Atoms::NONE.header(), None);
        assert_eq!(Atoms { bits: 0, count: 25 }.header(), None);
    }
}
