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

/// A 16-bit encoding.
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
        signed(self.imm6(), 6)
    }

    /// Returns the offset of a word.
    const fn word(self) -> i32 {
        (self.bits(10, 3, 3) | self.bits(6, 1, 2) | self.bits(5, 1, 6)) as i32
    }

    /// Returns the offset of a doubleword.
    const fn double(self) -> i32 {
        (self.bits(10, 3, 3) | self.bits(5, 2, 6)) as i32
    }

    const fn word_from_sp(self) -> i32 {
        (self.bits(12, 1, 5) | self.bits(4, 3, 2) | self.bits(2, 2, 6)) as i32
    }

    const fn double_from_sp(self) -> i32 {
        (self.bits(12, 1, 5) | self.bits(5, 2, 3) | self.bits(2, 3, 6)) as i32
    }

    const fn word_to_sp(self) -> i32 {
        (self.bits(9, 4, 2) | self.bits(7, 2, 6)) as i32
    }

    const fn double_to_sp(self) -> i32 {
        (self.bits(10, 3, 3) | self.bits(7, 3, 6)) as i32
    }

    const fn jump(self) -> i32 {
        let imm = self.bits(12, 1, 11)
            | self.bits(11, 1, 4)
            | self.bits(9, 2, 8)
            | self.bits(8, 1, 10)
            | self.bits(7, 1, 6)
            | self.bits(6, 1, 7)
            | self.bits(3, 3, 1)
            | self.bits(2, 1, 5);
        signed(imm, 12)
    }

    const fn branch(self) -> i32 {
        let imm = self.bits(12, 1, 8)
            | self.bits(10, 2, 3)
            | self.bits(5, 2, 6)
            | self.bits(3, 2, 1)
            | self.bits(2, 1, 5);
        signed(imm, 9)
    }
}

const fn signed(value: u32, width: u32) -> i32 {
    (value << (32 - width)) as i32 >> (32 - width)
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
            let imm = half.bits(11, 2, 4) | half.bits(7, 4, 6) | half.bits(6, 1, 2) | half.bits(5, 1, 3);
            if imm == 0 {
                return None;
            }
            load(Addi, low, SP, imm as i32)
        }
        (0b001, _) => load(Fld, low, high, half.double()),
        (0b010, _) => load(Lw, low, high, half.word()),
        (0b011, Xlen::Rv32) => load(Flw, low, high, half.word()),
        (0b011, Xlen::Rv64) => load(Ld, low, high, half.double()),
        (0b101, _) => store(Fsd, low, high, half.double()),
        (0b110, _) => store(Sw, low, high, half.word()),
        (0b111, Xlen::Rv32) => store(Fsw, low, high, half.word()),
        (0b111, Xlen::Rv64) => store(Sd, low, high, half.double()),
        _ => return None,
    })
}

fn quadrant_1(half: Half, xlen: Xlen) -> Option<Instruction> {
    let rd = half.rd();
    let imm = half.signed_imm6();
    Some(match (half.funct3(), xlen) {
        (0b000, _) => immediate(Addi, rd, imm),
        (0b001, Xlen::Rv32) => Instruction { rd: 1, imm: half.jump(), ..plain(Jal) },
        (0b001, Xlen::Rv64) if rd != 0 => immediate(Addiw, rd, imm),
        (0b010, _) => Instruction { rd, imm, ..plain(Addi) },
        // Both instructions have the same immediate, and zero is reserved.
        (0b011, _) if imm == 0 => return None,
        (0b011, _) if rd == SP => {
            let imm = half.bits(12, 1, 9)
                | half.bits(6, 1, 4)
                | half.bits(5, 1, 6)
                | half.bits(3, 2, 7)
                | half.bits(2, 1, 5);
            immediate(Addi, SP, signed(imm, 10))
        }
        (0b011, _) => Instruction { rd, imm: imm << 12, ..plain(Lui) },
        (0b100, _) => return arithmetic(half, xlen),
        (0b101, _) => Instruction { imm: half.jump(), ..plain(Jal) },
        (0b110, _) => Instruction { rs1: half.high(), imm: half.branch(), ..plain(Beq) },
        (0b111, _) => Instruction { rs1: half.high(), imm: half.branch(), ..plain(Bne) },
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
        (0b001, _) => load(Fld, rd, SP, half.double_from_sp()),
        (0b010, _) if rd != 0 => load(Lw, rd, SP, half.word_from_sp()),
        (0b011, Xlen::Rv32) => load(Flw, rd, SP, half.word_from_sp()),
        (0b011, Xlen::Rv64) if rd != 0 => load(Ld, rd, SP, half.double_from_sp()),
        (0b100, _) => match (half.bits(12, 1, 0), rd, rs2) {
            (0, 0, 0) => return None,
            (0, rs1, 0) => Instruction { rs1, ..plain(Jalr) },
            (0, rd, rs2) => Instruction { rd, rs2, ..plain(Add) },
            (_, 0, 0) => plain(Ebreak),
            (_, rs1, 0) => Instruction { rd: 1, rs1, ..plain(Jalr) },
            (_, rd, rs2) => Instruction { rd, rs1: rd, rs2, ..plain(Add) },
        },
        (0b101, _) => store(Fsd, rs2, SP, half.double_to_sp()),
        (0b110, _) => store(Sw, rs2, SP, half.word_to_sp()),
        (0b111, Xlen::Rv32) => store(Fsw, rs2, SP, half.word_to_sp()),
        (0b111, Xlen::Rv64) => store(Sd, rs2, SP, half.double_to_sp()),
        _ => return None,
    })
}
