//! 16-bit encodings (C extension), by quadrant.

use super::decode::plain;
use super::op::Op::*;
use super::{Instruction, Op, Xlen};

const SP: u8 = 2;

pub(super) fn decode(xlen: Xlen, bits: u16) -> Instruction {
    let half = Half(bits.into());
    let found = match bits & 3 {
        0 => quadrant_0(half, xlen),
        1 => quadrant_1(half, xlen),
        _ => quadrant_2(half, xlen),
    };
    Instruction { len: 2, ..found.unwrap_or(plain(Illegal)) }
}

#[derive(Clone, Copy)]
struct Half(u32);

impl Half {
    /// Returns `width` bits from bit `low` on, moved to bit `to`: immediates are scrambled.
    const fn bits(self, low: u32, width: u32, to: u32) -> u32 {
        (self.0 >> low & ((1 << width) - 1)) << to
    }

    const fn funct3(self) -> u32 {
        self.bits(13, 3, 0)
    }

    /// Returns the register in bits 11:7.
    const fn rd(self) -> u8 {
        self.bits(7, 5, 0) as u8
    }

    /// Returns the register in bits 6:2.
    const fn rs2(self) -> u8 {
        self.bits(2, 5, 0) as u8
    }

    /// Returns the register in bits 4:2, one of x8 to x15.
    const fn low(self) -> u8 {
        8 + self.bits(2, 3, 0) as u8
    }

    /// Returns the register in bits 9:7, one of x8 to x15.
    const fn high(self) -> u8 {
        8 + self.bits(7, 3, 0) as u8
    }

    /// Returns bits 12 and 6:2.
    const fn imm6(self) -> u32 {
        self.bits(12, 1, 5) | self.bits(2, 5, 0)
    }

    const fn signed_imm6(self) -> i32 {
        signed(self.imm6() as i32, 6)
    }

    /// Returns an immediate whose parts are scattered.
    const fn imm<const N: usize>(self, parts: [Part; N]) -> i32 {
        let (mut imm, mut n) = (0, 0);
        while n < N {
            let (low, width, to) = parts[n];
            imm |= self.bits(low, width, to);
            n += 1;
        }
        imm as i32
    }
}

/// A part of an immediate: its lowest bit, how many bits it has, and where they go.
type Part = (u32, u32, u32);

// Offsets of words and doublewords: from a register, loaded from SP, stored to SP.
const WORD: [Part; 3] = [(10, 3, 3), (6, 1, 2), (5, 1, 6)];
const DOUBLE: [Part; 2] = [(10, 3, 3), (5, 2, 6)];
const WORD_FROM_SP: [Part; 3] = [(12, 1, 5), (4, 3, 2), (2, 2, 6)];
const DOUBLE_FROM_SP: [Part; 3] = [(12, 1, 5), (5, 2, 3), (2, 3, 6)];
const WORD_TO_SP: [Part; 2] = [(9, 4, 2), (7, 2, 6)];
const DOUBLE_TO_SP: [Part; 2] = [(10, 3, 3), (7, 3, 6)];
// Immediates of C.ADDI4SPN, C.ADDI16SP, jumps and branches.
const ADDI4SPN: [Part; 4] = [(11, 2, 4), (7, 4, 6), (6, 1, 2), (5, 1, 3)];
const ADDI16SP: [Part; 5] = [(12, 1, 9), (6, 1, 4), (5, 1, 6), (3, 2, 7), (2, 1, 5)];
const JUMP: [Part; 8] =
    [(12, 1, 11), (11, 1, 4), (9, 2, 8), (8, 1, 10), (7, 1, 6), (6, 1, 7), (3, 3, 1), (2, 1, 5)];
const BRANCH: [Part; 5] = [(12, 1, 8), (10, 2, 3), (5, 2, 6), (3, 2, 1), (2, 1, 5)];

const fn signed(value: i32, width: u32) -> i32 {
    value << (32 - width) >> (32 - width)
}

const fn load(op: Op, rd: u8, rs1: u8, imm: i32) -> Instruction {
    Instruction { rd, rs1, imm, ..plain(op) }
}

const fn store(op: Op, rs2: u8, rs1: u8, imm: i32) -> Instruction {
    Instruction { rs2, rs1, imm, ..plain(op) }
}

/// Creates an operation of `rd` and a constant into `rd`.
const fn immediate(op: Op, rd: u8, imm: i32) -> Instruction {
    Instruction { rd, rs1: rd, imm, ..plain(op) }
}

fn quadrant_0(half: Half, xlen: Xlen) -> Option<Instruction> {
    let (low, high) = (half.low(), half.high());
    Some(match (half.funct3(), xlen) {
        (0b000, _) => {
            let imm = half.imm(ADDI4SPN);
            if imm == 0 {
                return None;
            }
            load(Addi, low, SP, imm)
        }
        (0b001, _) => load(Fld, low, high, half.imm(DOUBLE)),
        (0b010, _) => load(Lw, low, high, half.imm(WORD)),
        (0b011, Xlen::Rv32) => load(Flw, low, high, half.imm(WORD)),
        (0b011, Xlen::Rv64) => load(Ld, low, high, half.imm(DOUBLE)),
        (0b101, _) => store(Fsd, low, high, half.imm(DOUBLE)),
        (0b110, _) => store(Sw, low, high, half.imm(WORD)),
        (0b111, Xlen::Rv32) => store(Fsw, low, high, half.imm(WORD)),
        (0b111, Xlen::Rv64) => store(Sd, low, high, half.imm(DOUBLE)),
        _ => return None,
    })
}

fn quadrant_1(half: Half, xlen: Xlen) -> Option<Instruction> {
    let rd = half.rd();
    let imm = half.signed_imm6();
    Some(match (half.funct3(), xlen) {
        (0b000, _) => immediate(Addi, rd, imm),
        (0b001, Xlen::Rv32) => Instruction { rd: 1, imm: signed(half.imm(JUMP), 12), ..plain(Jal) },
        (0b001, Xlen::Rv64) if rd != 0 => immediate(Addiw, rd, imm),
        (0b010, _) => Instruction { rd, imm, ..plain(Addi) },
        // Both instructions have the same immediate, and zero is reserved.
        (0b011, _) if imm == 0 => return None,
        (0b011, _) if rd == SP => immediate(Addi, SP, signed(half.imm(ADDI16SP), 10)),
        (0b011, _) => Instruction { rd, imm: imm << 12, ..plain(Lui) },
        (0b100, _) => return arithmetic(half, xlen),
        (0b101, _) => Instruction { imm: signed(half.imm(JUMP), 12), ..plain(Jal) },
        (0b110, _) => Instruction { rs1: half.high(), imm: signed(half.imm(BRANCH), 9), ..plain(Beq) },
        (0b111, _) => Instruction { rs1: half.high(), imm: signed(half.imm(BRANCH), 9), ..plain(Bne) },
        _ => return None,
    })
}

/// Decodes C.SRLI to C.ADDW.
fn arithmetic(half: Half, xlen: Xlen) -> Option<Instruction> {
    let rd = half.high();
    let op = match (half.bits(10, 2, 0), half.bits(12, 1, 2) | half.bits(5, 2, 0)) {
        (0b00, _) => return shift(Srli, rd, half, xlen),
        (0b01, _) => return shift(Srai, rd, half, xlen),
        (0b10, _) => return Some(immediate(Andi, rd, half.signed_imm6())),
        (_, 0b000) => Sub,
        (_, 0b001) => Xor,
        (_, 0b010) => Or,
        (_, 0b011) => And,
        (_, 0b100) if xlen == Xlen::Rv64 => Subw,
        (_, 0b101) if xlen == Xlen::Rv64 => Addw,
        _ => return None,
    };
    Some(Instruction { rd, rs1: rd, rs2: half.low(), ..plain(op) })
}

/// Decodes a shift. RV32 has no bit 5 of a shift amount. A shift by 0 is a HINT.
fn shift(op: Op, rd: u8, half: Half, xlen: Xlen) -> Option<Instruction> {
    let shamt = half.imm6();
    (xlen == Xlen::Rv64 || shamt < 32).then_some(immediate(op, rd, shamt as i32))
}

fn quadrant_2(half: Half, xlen: Xlen) -> Option<Instruction> {
    let (rd, rs2) = (half.rd(), half.rs2());
    Some(match (half.funct3(), xlen) {
        (0b000, _) => return shift(Slli, rd, half, xlen),
        (0b001, _) => load(Fld, rd, SP, half.imm(DOUBLE_FROM_SP)),
        (0b010, _) if rd != 0 => load(Lw, rd, SP, half.imm(WORD_FROM_SP)),
        (0b011, Xlen::Rv32) => load(Flw, rd, SP, half.imm(WORD_FROM_SP)),
        (0b011, Xlen::Rv64) if rd != 0 => load(Ld, rd, SP, half.imm(DOUBLE_FROM_SP)),
        (0b100, _) => match (half.bits(12, 1, 0), rd, rs2) {
            (0, 0, 0) => return None,
            (0, rs1, 0) => Instruction { rs1, ..plain(Jalr) },
            (0, rd, rs2) => Instruction { rd, rs2, ..plain(Add) },
            (_, 0, 0) => plain(Ebreak),
            (_, rs1, 0) => Instruction { rd: 1, rs1, ..plain(Jalr) },
            (_, rd, rs2) => Instruction { rd, rs1: rd, rs2, ..plain(Add) },
        },
        (0b101, _) => store(Fsd, rs2, SP, half.imm(DOUBLE_TO_SP)),
        (0b110, _) => store(Sw, rs2, SP, half.imm(WORD_TO_SP)),
        (0b111, Xlen::Rv32) => store(Fsw, rs2, SP, half.imm(WORD_TO_SP)),
        (0b111, Xlen::Rv64) => store(Sd, rs2, SP, half.imm(DOUBLE_TO_SP)),
        _ => return None,
    })
}
