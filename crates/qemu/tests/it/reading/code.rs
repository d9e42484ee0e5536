//! Random code that is generated when it is fetched.

use std::collections::HashMap;

use tracewright_core::Isa;
use tracewright_testkit::Rng;

/// Kind of instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Plain,
    Load,
    Store,
    Direct {
        conditional: bool,
        target: u64,
    },
    Indirect {
        conditional: bool,
        is_return: bool,
    },
    Barrier,
    Call,
    Break,
    Undefined,
    /// Makes the next one conditional.
    It,
    /// RISC-V: the next one may be the second of a pair.
    PairFirst,
    PairSecond {
        target: u64,
    },
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    pub kind: Kind,
    /// Bits, as reported to a sink.
    pub bits: u32,
    pub len: u8,
}

impl Instruction {
    pub fn bytes(&self, isa: Isa) -> Vec<u8> {
        let bits = if isa == Isa::T32 && self.len == 4 { self.bits.rotate_left(16) } else { self.bits };
        bits.to_le_bytes()[..self.len.into()].to_vec()
    }
}

/// Memory: a region for each instruction set, small enough for all branches.
pub struct Code {
    rng: Rng,
    at: HashMap<u64, Instruction>,
}

/// Size of a region. Code runs from one entry to the next, and jumps to entries.
const REGION: u64 = 0xc00;
const ENTRY: u64 = 0x40;

impl Code {
    pub fn new(rng: Rng) -> Self {
        Self { rng, at: HashMap::new() }
    }

    /// Returns where the code of an instruction set begins: not at the start of a page, so that one ends within.
    fn base(isa: Isa) -> u64 {
        0x10_0800 + 0x1_0000 * isa as u64
    }

    /// Returns a random entry.
    pub fn entry(isa: Isa, rng: &mut Rng) -> u64 {
        Self::base(isa) + ENTRY * rng.below(REGION / ENTRY)
    }

    /// Returns whether code must branch at this address at the latest.
    fn is_end(isa: Isa, at: u64) -> bool {
        at + 16 >= Self::base(isa) + REGION
    }

    /// Returns the instruction at an address.
    pub fn fetch(&mut self, isa: Isa, at: u64) -> Instruction {
        if let Some(known) = self.at.get(&at) {
            return *known;
        }
        let after = |code: &Self, kind: fn(&Kind) -> bool| {
            [2, 4].iter().any(|len| {
                code.at
                    .get(&(at - len))
                    .is_some_and(|before| u64::from(before.len) == *len && kind(&before.kind))
            })
        };
        let in_it = after(self, |kind| *kind == Kind::It);
        let pair = after(self, |kind| *kind == Kind::PairFirst);
        // Instructions must not overlap existing ones.
        let room = if self.at.contains_key(&(at + 2)) { 2 } else { 4 };
        let kind = self.kind(isa, at, in_it, pair);
        let found = encode(isa, at, kind, room, &mut self.rng);
        self.at.insert(at, found);
        found
    }

    fn kind(&mut self, isa: Isa, at: u64, in_it: bool, pair: bool) -> Kind {
        let rng = &mut self.rng;
        if Self::is_end(isa, at) {
            return Kind::Indirect { conditional: false, is_return: true };
        }
        if in_it {
            let branch = Kind::Indirect { conditional: true, is_return: true };
            return if rng.one_in(3) { branch } else { Kind::Plain };
        }
        if pair && rng.one_in(2) {
            return Kind::PairSecond { target: at & !(ENTRY - 1) };
        }
        let riscv = matches!(isa, Isa::Rv32 | Isa::Rv64);
        let conditional_indirect = isa == Isa::A32 && rng.one_in(2);
        match rng.below(26) {
            0..4 => Kind::Load,
            4..6 => Kind::Store,
            6..10 => Kind::Direct { conditional: true, target: Self::entry(isa, rng) },
            // To the next instruction, wherever that is.
            10 => Kind::Direct { conditional: true, target: at + 4 },
            11..13 => Kind::Direct { conditional: false, target: Self::entry(isa, rng) },
            13 => Kind::Indirect { conditional: conditional_indirect, is_return: false },
            14 => Kind::Indirect { conditional: conditional_indirect, is_return: true },
            15 if !riscv => Kind::Barrier,
            16 => Kind::Call,
            17 if rng.one_in(4) => Kind::Break,
            17 if rng.one_in(4) => Kind::Undefined,
            18 if isa == Isa::T32 => Kind::It,
            18 | 19 if riscv => Kind::PairFirst,
            _ => Kind::Plain,
        }
    }
}

/// Encodes an instruction; a plain one if it does not fit.
fn encode(isa: Isa, at: u64, kind: Kind, room: u8, rng: &mut Rng) -> Instruction {
    let (bits, len) = match isa {
        Isa::A64 => (a64(at, kind), 4),
        Isa::A32 => (a32(at, kind, rng), 4),
        Isa::T32 => t32(at, kind, rng),
        Isa::Rv32 | Isa::Rv64 => riscv(at, kind, rng),
    };
    if len <= room {
        return Instruction { kind, bits, len };
    }
    let bits = if isa == Isa::T32 { 0xbf00 } else { 1 };
    Instruction { kind: Kind::Plain, bits, len: 2 }
}

fn a64(at: u64, kind: Kind) -> u32 {
    let offset = |target: u64| (target.wrapping_sub(at) as i64 / 4) as u32;
    match kind {
        Kind::Load => 0xf940_0020,
        Kind::Store => 0xf900_0020,
        Kind::Direct { conditional: true, target } => 0x5400_0000 | (offset(target) & 0x7_ffff) << 5,
        Kind::Direct { target, .. } => 0x1400_0000 | offset(target) & 0x3ff_ffff,
        Kind::Indirect { is_return: true, .. } => 0xd65f_03c0,
        Kind::Indirect { .. } => 0xd61f_0020,
        Kind::Barrier => 0xd503_3fdf,
        Kind::Call => 0xd400_0001,
        Kind::Break => 0xd420_0000,
        Kind::Undefined => 0,
        Kind::Plain | Kind::It | Kind::PairFirst | Kind::PairSecond { .. } => 0xd503_201f,
    }
}

fn a32(at: u64, kind: Kind, rng: &mut Rng) -> u32 {
    let offset = |target: u64| ((target.wrapping_sub(at + 8) as i64 / 4) as u32) & 0xff_ffff;
    match kind {
        Kind::Load => 0xe590_0000,
        Kind::Store => 0xe580_0000,
        Kind::Direct { conditional, target } => {
            offset(target) | if conditional { 0x0a00_0000 } else { 0xea00_0000 }
        }
        Kind::Indirect { conditional, is_return } => {
            let condition = if conditional { 0 } else { 0xe000_0000 };
            condition | if is_return { 0x012f_ff1e } else { 0x012f_ff11 }
        }
        Kind::Barrier => 0xf57f_f06f,
        Kind::Call => 0xef00_0000,
        Kind::Break => 0xe120_0070,
        Kind::Undefined => 0xe7f0_00f0,
        Kind::Plain | Kind::It | Kind::PairFirst | Kind::PairSecond { .. } => {
            *rng.pick(&[0xe080_0001, 0x0080_0001])
        }
    }
}

fn t32(at: u64, kind: Kind, rng: &mut Rng) -> (u32, u8) {
    let offset = |target: u64| (target.wrapping_sub(at + 4) as i64 / 2) as u32;
    match kind {
        Kind::Load => *rng.pick(&[(0x6808, 2), (0xf8d1_0000, 4)]),
        Kind::Store => (0x6008, 2),
        // B T3, S:J2:J1:imm6:imm11; and B T4, where J1 and J2 are inverted unless S is set.
        Kind::Direct { conditional: true, target } => {
            let offset = offset(target);
            let (s, j) = (offset >> 19 & 1, offset >> 17 & 3);
            let high = 0xf000 | s << 10 | offset >> 11 & 0x3f;
            (high << 16 | 0x8000 | (j & 1) << 13 | (j >> 1) << 11 | offset & 0x7ff, 4)
        }
        Kind::Direct { target, .. } => {
            let offset = offset(target);
            let s = offset >> 23 & 1;
            let (j1, j2) = (offset >> 22 & 1 ^ s ^ 1, offset >> 21 & 1 ^ s ^ 1);
            let high = 0xf000 | s << 10 | offset >> 11 & 0x3ff;
            (high << 16 | 0x9000 | j1 << 13 | j2 << 11 | offset & 0x7ff, 4)
        }
        Kind::Indirect { is_return: true, .. } => (0x4770, 2),
        Kind::Indirect { .. } => (0x4708, 2),
        Kind::Barrier => (0xf3bf_8f6f, 4),
        Kind::Call => (0xdf00, 2),
        Kind::Break => (0xbe00, 2),
        Kind::Undefined => (0xde00, 2),
        Kind::It => (0xbf08, 2),
        Kind::Plain | Kind::PairFirst | Kind::PairSecond { .. } => {
            *rng.pick(&[(0x1840, 2), (0xeb00_0001, 4)])
        }
    }
}

fn riscv(at: u64, kind: Kind, rng: &mut Rng) -> (u32, u8) {
    let field =
        |value: u64, from: u32, width: u32, to: u32| ((value >> from) as u32 & ((1 << width) - 1)) << to;
    match kind {
        Kind::Load => *rng.pick(&[(0x0005_3503, 4), (0x6108, 2)]),
        Kind::Store => *rng.pick(&[(0x00b5_3023, 4), (0xe10c, 2)]),
        Kind::Direct { conditional: true, target } => {
            let to = target.wrapping_sub(at);
            let bits = field(to, 12, 1, 31) | field(to, 5, 6, 25) | field(to, 1, 4, 8) | field(to, 11, 1, 7);
            (0x00b5_0063 | bits, 4)
        }
        Kind::Direct { target, .. } => {
            let to = target.wrapping_sub(at);
            let bits =
                field(to, 20, 1, 31) | field(to, 1, 10, 21) | field(to, 11, 1, 20) | field(to, 12, 8, 12);
            (0x6f | bits, 4)
        }
        Kind::Indirect { is_return: true, .. } => (0x8082, 2),
        Kind::Indirect { .. } => (0x0005_0067, 4),
        Kind::Call => (0x73, 4),
        Kind::Break => *rng.pick(&[(0x0010_0073, 4), (0x9002, 2)]),
        Kind::Undefined => (0, 2),
        // auipc t1, 0; jalr x0, imm(t1)
        Kind::PairFirst => (0x0000_0317, 4),
        Kind::PairSecond { target } => {
            let to = target.wrapping_sub(at - 4);
            (0x0003_0067 | field(to, 0, 12, 20), 4)
        }
        Kind::Plain | Kind::It | Kind::Barrier => *rng.pick(&[(0x13, 4), (1, 2)]),
    }
}
