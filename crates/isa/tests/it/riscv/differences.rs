//! The explained differences, by their names in DIFFERENCES.md.

use std::collections::{BTreeMap, HashSet};

use tracewright_isa::riscv::{Instruction, Op, Xlen};

/// An encoding with the oracle's answer and ours.
pub struct Case<'a> {
    pub xlen: Xlen,
    pub bits: u32,
    pub ours: &'a Instruction,
    pub text: &'a str,
    /// The oracle's text, empty for an unknown instruction.
    pub theirs: &'a str,
}

impl Case<'_> {
    fn illegal(&self) -> bool {
        self.ours.op == Op::Illegal
    }

    fn unknown(&self) -> bool {
        self.theirs.is_empty()
    }

    /// Returns the oracle's name of the instruction.
    fn name(&self) -> &str {
        self.theirs.split(' ').next().unwrap_or_default()
    }

    /// Returns our name and the oracle's name of a CSR, if nothing else differs. A CSR without a name has its number
    /// in decimal.
    fn csrs(&self) -> Option<(&str, &str)> {
        let csr = matches!(self.ours.op as u8, FIRST_CSR..=LAST_CSR);
        let mut differ =
            self.text.split(' ').zip(self.theirs.split(' ')).filter(|(ours, theirs)| ours != theirs);
        let first = differ.next().filter(|_| csr);
        first.filter(|_| {
            differ.next().is_none() && self.text.split(' ').count() == self.theirs.split(' ').count()
        })
    }

    /// Returns whether the oracle has a six-bit shift amount or bit number in RV32.
    fn shifts_too_far(&self) -> bool {
        let bit_5 = if self.ours.len == 2 { 12 } else { 25 };
        let shifts = ["slli", "srli", "srai", "rori", "bseti", "bclri", "binvi", "bexti"];
        self.xlen == Xlen::Rv32
            && self.illegal()
            && shifts.contains(&self.name())
            && self.bits >> bit_5 & 1 == 1
    }
}

/// A name in DIFFERENCES.md, its oracles, and a test for the cases it is about.
type Rule = (&'static str, &'static [&'static str], fn(&Case<'_>) -> bool);

const RULES: &[Rule] = &[
    ("All zeros", &["objdump, 16 bits"], |case| case.illegal() && case.bits == 0),
    ("C.ADDI16SP of 0", &["objdump, 16 bits"], |case| case.illegal() && case.bits == 0x6101),
    ("Shift by 32 or more", &["objdump, 16 bits", "objdump, 32 bits", "Capstone"], |case| {
        case.shifts_too_far()
    }),
    ("Fences and their reserved fields", &["objdump, 32 bits", "Capstone"], |case| {
        let reserved = if case.ours.op == Op::FenceI { 0xffff_8f80 } else { 0xf00f_8f80 };
        matches!(case.ours.op, Op::Fence | Op::FenceI) && case.unknown() && case.bits & reserved != 0
    }),
    ("Reserved rounding modes", &["objdump, 32 bits"], |case| {
        case.illegal() && matches!(case.bits >> 12 & 7, 5 | 6) && case.theirs.ends_with(",unknown")
    }),
    ("Exact conversions", &["objdump, 32 bits", "Capstone"], |case| {
        matches!(case.ours.op, Op::FcvtDS | Op::FcvtDW | Op::FcvtDWu) && case.ours.mode != 0 && case.unknown()
    }),
    ("Older privileged architectures", &["objdump, 32 bits", "Capstone"], |case| {
        case.illegal() && ["uret", "hret", "sfence.vm"].contains(&case.name())
    }),
    ("DRET", &["objdump, 32 bits"], |case| case.illegal() && case.theirs == "dret"),
    ("Newer CSRs", &["Capstone"], |case| {
        case.csrs().is_some_and(|(_, theirs)| theirs == case.ours.imm.to_string())
    }),
    ("Withdrawn CSRs", &["Capstone"], |case| {
        case.csrs()
            .is_some_and(|(ours, theirs)| ours == case.ours.imm.to_string() && OLD_CSRS.contains(&theirs))
    }),
    ("Old CSR names", &["Capstone"], |case| case.csrs() == Some(("dscratch0", "dscratch"))),
    ("PMPADDR13 and PMPADDR14", &["Capstone"], |case| {
        matches!(case.csrs(), Some(("pmpaddr13", "pmpaddr14") | ("pmpaddr14", "pmpaddr13")))
    }),
    ("Zba, Zbb, Zbs", &["Capstone"], |case| {
        matches!(case.ours.op as u8, FIRST_ZB..=LAST_ZB) && case.unknown()
    }),
];

const OLD_CSRS: &[&str] =
    &["ustatus", "uie", "utvec", "uscratch", "uepc", "ucause", "utval", "uip", "sedeleg", "sideleg"];

const FIRST_CSR: u8 = Op::Csrrw as u8;
const LAST_CSR: u8 = Op::Csrrci as u8;
const FIRST_ZB: u8 = Op::Sh1add as u8;
const LAST_ZB: u8 = Op::Bseti as u8;

/// The differences between an oracle and this crate.
pub struct Log {
    oracle: &'static str,
    counts: BTreeMap<&'static str, u64>,
    seen: HashSet<Op>,
    unexplained: Vec<String>,
}

impl Log {
    pub fn new(oracle: &'static str) -> Self {
        Self { oracle, counts: BTreeMap::new(), seen: HashSet::new(), unexplained: Vec::new() }
    }

    pub fn compare(&mut self, case: &Case<'_>) {
        let same = if case.illegal() { case.unknown() } else { case.text == case.theirs };
        if same {
            self.seen.insert(case.ours.op);
            return;
        }
        let rule = RULES.iter().find(|(_, oracles, is)| oracles.contains(&self.oracle) && is(case));
        if let Some((name, ..)) = rule {
            *self.counts.entry(name).or_default() += 1;
        } else if self.unexplained.len() < 60 {
            let Case { xlen, bits, text, theirs, .. } = case;
            self.unexplained.push(format!("{xlen:?} {bits:08x}: {text:?}, they say {theirs:?}"));
        }
    }

    /// Returns how many operations both agreed about at least once, [`Op::Illegal`] included.
    pub fn operations(&self) -> usize {
        self.seen.len()
    }

    /// Checks that all differences are explained, and that all rules are used.
    ///
    /// # Panics
    /// If a difference is not explained, or a rule explained none.
    pub fn complete(&self) {
        assert!(self.unexplained.is_empty(), "{}:\n{}", self.oracle, self.unexplained.join("\n"));
        for (name, oracles, _) in RULES {
            let used = !oracles.contains(&self.oracle) || self.counts.contains_key(name);
            assert!(used, "{}: {name}: there is no such difference", self.oracle);
        }
    }
}

#[test]
fn the_list_says_the_same() {
    crate::oracles::differences::assert_listed("RISC-V", RULES.iter().map(|rule| rule.0));
}
