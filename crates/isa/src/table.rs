//! Tables of instructions, as rows of mask, value and meaning, with an index for fast lookup.

use tracewright_core::{Class, Flow, Isa, Role};

use crate::Instruction;

/// One instruction, or several of the same class: all words `w` with `w & mask == value` that no earlier row matches.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    mask: u32,
    value: u32,
    class: Class,
    target: Target,
    /// Instruction set at the target, if it is another one.
    target_isa: Option<Isa>,
}

/// A function from the address and the word of a direct branch to its target.
pub(crate) type Target = fn(u64, u32) -> u64;

/// Creates a row of direct branches. The name is that in the specification, for the reader only.
pub(crate) const fn direct(name: &str, pattern: (u32, u32), role: Role, target: Target) -> Row {
    Row { target, ..other(name, pattern, Flow::Direct, role) }
}

/// Creates a row of other instructions.
pub(crate) const fn other(_name: &str, (mask, value): (u32, u32), flow: Flow, role: Role) -> Row {
    let class = Class { flow, role, conditional: false };
    Row { mask, value, class, target: |_, _| 0, target_isa: None }
}

impl Row {
    pub(crate) const fn conditional(mut self) -> Self {
        self.class.conditional = true;
        self
    }

    /// Sets another instruction set at the target.
    pub(crate) const fn to(self, isa: Isa) -> Self {
        Self { target_isa: Some(isa), ..self }
    }

    const fn matches(&self, word: u32) -> bool {
        word & self.mask == self.value
    }
}

/// Returns the meaning of an instruction that is in no table.
pub(crate) const fn next(len: u8, isa: Isa) -> Instruction {
    Instruction { len, class: Class::NEXT, target: 0, target_isa: isa }
}

/// Rows, with an index over eight bits of the word.
pub(crate) struct Table {
    isa: Isa,
    rows: &'static [Row],
    shift: u32,
    /// For each value of the index bits, the set of rows that can match: bit n is row n.
    candidates: [u64; 256],
}

impl Table {
    /// Creates a table of the `rows` of an instruction set, indexed by the eight bits at `shift`. More than 64 rows do not compile.
    pub(crate) const fn new(isa: Isa, rows: &'static [Row], shift: u32) -> Self {
        assert!(rows.len() <= 64);
        let mut candidates = [0; 256];
        let mut key = 0;
        while key < 256 {
            let mut n = 0;
            while n < rows.len() {
                assert!(rows[n].value & !rows[n].mask == 0, "a row that nothing matches");
                let seen = rows[n].mask & 0xff << shift;
                if (key as u32) << shift & seen == rows[n].value & seen {
                    candidates[key] |= 1 << n;
                }
                n += 1;
            }
            key += 1;
        }
        Self { isa, rows, shift, candidates }
    }

    /// Decodes the instruction `word` of `len` bytes at `address`.
    #[inline]
    pub(crate) fn decode(&self, len: u8, address: u64, word: u32) -> Instruction {
        self.decode_as(len, address, word, word)
    }

    /// Decodes the instruction `word`, whose row is that of `key`.
    #[inline]
    pub(crate) fn decode_as(&self, len: u8, address: u64, key: u32, word: u32) -> Instruction {
        match self.find(key) {
            Some(&Row { class, target, target_isa, .. }) => {
                let target_isa = target_isa.unwrap_or(self.isa);
                Instruction { len, class, target: target(address, word), target_isa }
            }
            None => next(len, self.isa),
        }
    }

    /// Returns the first row that matches `word`.
    #[inline]
    fn find(&self, word: u32) -> Option<&'static Row> {
        let mut left = self.candidates[(word >> self.shift & 0xff) as usize];
        while left != 0 {
            let row = &self.rows[left.trailing_zeros() as usize];
            if row.matches(word) {
                return Some(row);
            }
            left &= left - 1;
        }
        None
    }
}

/// Returns the `width` bits of `word` at `lsb`.
pub(crate) const fn bits(word: u32, lsb: u32, width: u32) -> u32 {
    (word >> lsb) & ((1 << width) - 1)
}

/// Returns the low `width` bits of `value` as a signed number, to be added to an address.
pub(crate) const fn signed(value: u32, width: u32) -> u64 {
    ((value << (32 - width)) as i32 >> (32 - width)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares `find` with its naive twin, and checks that no row is hidden by earlier ones.
    fn check(name: &str, table: &Table) {
        let mut random = tracewright_testkit::Rng::new(1);
        for (n, row) in table.rows.iter().enumerate() {
            let mut found = false;
            for _ in 0..1000 {
                let word = random.next_u64() as u32 & !row.mask | row.value;
                let first = table.rows.iter().position(|row| row.matches(word)).unwrap();
                assert!(core::ptr::eq(table.find(word).unwrap(), &table.rows[first]), "{name} {word:08x}");
                found |= first == n;
            }
            assert!(found, "{name}: row {n} never applies");
        }
    }

    /// Checks `a64::may_end_block` for all words of all rows, not only on samples.
    #[test]
    fn no_row_of_a64_is_outside_the_group() {
        for row in crate::a64::TABLE.rows {
            assert!(row.mask & 0x1c00_0000 == 0x1c00_0000 && crate::a64::may_end_block(row.value));
        }
    }

    #[test]
    fn every_row_applies_and_is_found() {
        check("A64", &crate::a64::TABLE);
        check("A32", &crate::a32::CONDITIONAL);
        check("A32 unconditional", &crate::a32::UNCONDITIONAL);
        check("T32 16-bit", &crate::t32::NARROW);
        check("T32 32-bit", &crate::t32::WIDE);
    }
}
