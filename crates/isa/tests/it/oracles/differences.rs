//! The explained differences, by their names in DIFFERENCES.md.

use std::collections::BTreeSet;

use tracewright_core::Isa;

/// A kind of words about which an oracle and this crate differ.
struct Rule {
    /// The name in DIFFERENCES.md.
    name: &'static str,
    isa: Isa,
    oracle: &'static str,
    /// Whether a word, with the oracle's text for it, is of this kind.
    is: fn(u32, &str) -> bool,
}

/// The oracle's text for an unknown instruction.
pub const UNKNOWN: &str = "unknown";
/// The oracle's text for an instruction that it would know, and agree about, if bits were as they should be.
pub const SHOULD_BE: &str = "unknown, bits should be otherwise";

const RULES: &[Rule] = &[
    rule("TSTART", Isa::A64, "Arm", |word, _| word & 0xffff_ffe0 == 0xd523_3060),
    rule("Armv8.1-M loops", Isa::T32, "Arm", |word, _| is_loop(word)),
    rule("CLRM", Isa::T32, "Arm", |word, _| word >> 16 == 0xe89f),
    rule("BXAUT", Isa::T32, "Arm", |word, _| word & 0xfff0_0ff0 == 0xfb50_0f10),
    rule("FEAT_CMPBR", Isa::A64, "Capstone", |word, text| word >> 26 & 0x1f == 0x1d && text == UNKNOWN),
    rule("FEAT_PAuth_LR", Isa::A64, "Capstone", |word, text| {
        (word & 0xffc0_001f == 0x5500_001f || word & 0xffff_fbe0 == 0xd65f_0be0) && text == UNKNOWN
    }),
    rule("TEXIT", Isa::A64, "Capstone", |word, text| word & 0xffff_fbff == 0xd6ff_03e0 && text == UNKNOWN),
    rule("Bits that should be", Isa::A32, "Capstone", |_, text| text == SHOULD_BE),
    rule("HVC with a condition", Isa::A32, "Capstone", |_, text| text.starts_with("hvc ")),
    rule("Shift by a register into PC", Isa::A32, "Capstone", |word, text| {
        word & 0x0e00_f090 == 0x0000_f010 && text.contains(" pc, ")
    }),
    rule("Pop of SP and PC", Isa::A32, "Capstone", |_, text| text.starts_with("pop") && text.contains("sp,")),
    rule("CP15ISB", Isa::A32, "Capstone", |_, text| text.starts_with("mcr") && text.contains("c7, c5, #4")),
    rule("Bits that should be", Isa::T32, "Capstone", |_, text| text == SHOULD_BE),
    rule("SUBS PC from another than LR", Isa::T32, "Capstone", |word, text| {
        word & 0xfff0_d000 == 0xf3d0_8000 && text == UNKNOWN
    }),
    rule("Neon of A32", Isa::T32, "Capstone", |word, text| {
        matches!(word >> 24, 0xe8 | 0xe9 | 0xf3) && (text.starts_with('v') || text.starts_with("sha1"))
    }),
    rule("Data processing into PC", Isa::T32, "Capstone", |word, text| {
        matches!(word >> 24, 0xea | 0xeb | 0xf0 | 0xf1 | 0xf4 | 0xf5 | 0xfa) && text.contains(" pc, ")
    }),
    rule("CP15ISB", Isa::T32, "Capstone", |_, text| text.starts_with("mcr") && text.contains("c7, c5, #4")),
    rule("Armv8.1-M loops", Isa::T32, "Capstone", |word, text| is_loop(word) && text == UNKNOWN),
    rule("CLRM", Isa::T32, "Capstone", |word, text| word >> 16 == 0xe89f && text.starts_with("ldm")),
    rule("BXAUT", Isa::T32, "Capstone", |_, text| {
        text.starts_with("smmlar pc") || text.starts_with("smmulr pc")
    }),
    rule("IT and its condition", Isa::T32, "Capstone", |word, _| word >> 24 == 0xbf),
    rule("IT AL", Isa::T32, "Capstone, IT blocks", |word, _| word >> 20 == 0xbfe),
];

const fn rule(name: &'static str, isa: Isa, oracle: &'static str, is: fn(u32, &str) -> bool) -> Rule {
    Rule { name, isa, oracle, is }
}

/// LE, LETP, WLS, WLSTP.
fn is_loop(word: u32) -> bool {
    word & 0xff80_f001 == 0xf000_c001 && word & 0x0070_0000 <= 0x0040_0000
}

/// The differences between an oracle and this crate.
pub struct Log {
    isa: Isa,
    rules: Vec<(&'static Rule, u64)>,
    unexplained: Vec<String>,
}

impl Log {
    pub fn new(isa: Isa, oracle: &str) -> Self {
        let rules = RULES.iter().filter(|rule| rule.isa == isa && rule.oracle == oracle);
        Self { isa, rules: rules.map(|rule| (rule, 0)).collect(), unexplained: Vec::new() }
    }

    /// Adds a difference: the oracle's text for `word` is `text`, and `what` says how the two differ.
    pub fn add(&mut self, word: u32, text: &str, what: impl FnOnce() -> String) {
        if let Some((_, count)) = self.rules.iter_mut().find(|(rule, _)| (rule.is)(word, text)) {
            *count += 1;
        } else if self.unexplained.len() < 20 {
            self.unexplained.push(format!("{word:08x} {text}: {}", what()));
        }
    }

    /// Checks that all differences are explained.
    ///
    /// # Panics
    /// If one is not.
    pub fn explained(&self) {
        assert!(self.unexplained.is_empty(), "{}:\n{}", self.isa, self.unexplained.join("\n"));
    }

    /// Checks that all differences are explained, and that all rules are used.
    ///
    /// # Panics
    /// If a difference is not explained, or a rule explained none.
    pub fn complete(&self) {
        self.explained();
        for (rule, count) in &self.rules {
            assert!(*count > 0, "{} {}: {}: there is no such difference", self.isa, rule.oracle, rule.name);
        }
    }
}

/// The names in a section of the list are these.
pub fn assert_listed(title: &str, rules: impl Iterator<Item = &'static str>) {
    let list = include_str!("../../../DIFFERENCES.md");
    let section = list.split("\n## ").find(|section| section.starts_with(title)).expect("such a section");
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let listed: BTreeSet<_> = cells.filter(|&cell| cell != "name").collect();
    assert_eq!(listed, rules.collect());
}

#[test]
fn the_list_says_the_same() {
    assert_listed("Oracles", RULES.iter().map(|rule| rule.name));
}
