//! Decoding of 32-bit encodings, by the specification's map of opcodes.

use super::compressed;
use super::op::Op::*;
use super::{Instruction, Op, Xlen};

/// Decodes the instruction that begins with the lower 16 bits of `bits`. The upper half is ignored for a 16-bit
/// instruction.
///
/// Nothing longer than 32 bits is defined: encodings of longer instructions are illegal, with `len` 4.
pub fn decode(xlen: Xlen, bits: u32) -> Instruction {
    if len(bits as u16) == 2 {
        return compressed::decode(xlen, bits as u16);
    }
    let word = Word(bits);
    let found = match word.field(2, 5) {
        0b00000 => load(word, xlen),
        0b00001 => load_fp(word),
        0b00011 => misc_mem(word),
        0b00100 => op_imm(word, xlen),
        0b00101 => Some(Instruction { rd: word.rd(), imm: word.imm_u(), ..plain(Auipc) }),
        0b00110 if xlen == Xlen::Rv64 => op_imm_32(word),
        0b01000 => store(word, xlen),
        0b01001 => store_fp(word),
        0b01011 => amo(word, xlen),
        0b01100 => op(word, xlen),
        0b01101 => Some(Instruction { rd: word.rd(), imm: word.imm_u(), ..plain(Lui) }),
        0b01110 if xlen == Xlen::Rv64 => op_32(word),
        0b10000 => fused(word, FmaddS, FmaddD),
        0b10001 => fused(word, FmsubS, FmsubD),
        0b10010 => fused(word, FnmsubS, FnmsubD),
        0b10011 => fused(word, FnmaddS, FnmaddD),
        0b10100 => op_fp(word, xlen),
        0b11000 => branch(word),
        0b11001 if word.funct3() == 0 => Some(word.i_type(Jalr)),
        0b11011 => Some(Instruction { rd: word.rd(), imm: word.imm_j(), ..plain(Jal) }),
        0b11100 => system(word),
        _ => None,
    };
    found.unwrap_or(plain(Illegal))
}

/// Returns the length in bytes, 2 or 4, of the instruction with these first 16 bits.
pub const fn len(first_halfword: u16) -> u8 {
    if first_halfword & 3 == 3 { 4 } else { 2 }
}

/// Creates a 4-byte instruction without operands.
pub(super) const fn plain(op: Op) -> Instruction {
    Instruction { op, len: 4, rd: 0, rs1: 0, rs2: 0, rs3: 0, mode: 0, imm: 0 }
}

/// A 32-bit encoding.
#[derive(Clone, Copy)]
struct Word(u32);

impl Word {
    /// Returns `width` bits from bit `low` on.
    const fn field(self, low: u32, width: u32) -> u32 {
        self.0 >> low & ((1 << width) - 1)
    }

    const fn rd(self) -> u8 {
        self.field(7, 5) as u8
    }

    const fn rs1(self) -> u8 {
        self.field(15, 5) as u8
    }

    const fn rs2(self) -> u8 {
        self.field(20, 5) as u8
    }

    const fn rs3(self) -> u8 {
        self.field(27, 5) as u8
    }

    const fn funct3(self) -> u32 {
        self.field(12, 3)
    }

    const fn funct7(self) -> u32 {
        self.field(25, 7)
    }

    const fn imm_i(self) -> i32 {
        self.0 as i32 >> 20
    }

    const fn imm_s(self) -> i32 {
        (self.0 as i32 >> 25) << 5 | self.field(7, 5) as i32
    }

    const fn imm_b(self) -> i32 {
        (self.0 as i32 >> 31) << 12
            | (self.field(7, 1) << 11 | self.field(25, 6) << 5 | self.field(8, 4) << 1) as i32
    }

    const fn imm_u(self) -> i32 {
        (self.0 & 0xffff_f000) as i32
    }

    const fn imm_j(self) -> i32 {
        (self.0 as i32 >> 31) << 20
            | (self.field(12, 8) << 12 | self.field(20, 1) << 11 | self.field(21, 10) << 1) as i32
    }

    const fn r_type(self, op: Op) -> Instruction {
        Instruction { rd: self.rd(), rs1: self.rs1(), rs2: self.rs2(), ..plain(op) }
    }

    const fn i_type(self, op: Op) -> Instruction {
        Instruction { rd: self.rd(), rs1: self.rs1(), imm: self.imm_i(), ..plain(op) }
    }

    const fn s_type(self, op: Op) -> Instruction {
        Instruction { rs1: self.rs1(), rs2: self.rs2(), imm: self.imm_s(), ..plain(op) }
    }

    /// Creates an instruction with a destination and one source.
    const fn unary(self, op: Op) -> Instruction {
        Instruction { rd: self.rd(), rs1: self.rs1(), ..plain(op) }
    }

    /// Creates a shift by a constant, or an instruction with the same encoding.
    const fn shift(self, op: Op, shamt: u32) -> Instruction {
        Instruction { imm: shamt as i32, ..self.unary(op) }
    }
}

/// Returns `op` in RV64, and `None` in RV32, which does not have it.
fn rv64(xlen: Xlen, op: Op) -> Option<Op> {
    (xlen == Xlen::Rv64).then_some(op)
}

fn load(word: Word, xlen: Xlen) -> Option<Instruction> {
    let op = match word.funct3() {
        0 => Lb,
        1 => Lh,
        2 => Lw,
        3 => rv64(xlen, Ld)?,
        4 => Lbu,
        5 => Lhu,
        6 => rv64(xlen, Lwu)?,
        _ => return None,
    };
    Some(word.i_type(op))
}

fn store(word: Word, xlen: Xlen) -> Option<Instruction> {
    let op = match word.funct3() {
        0 => Sb,
        1 => Sh,
        2 => Sw,
        3 => rv64(xlen, Sd)?,
        _ => return None,
    };
    Some(word.s_type(op))
}

fn load_fp(word: Word) -> Option<Instruction> {
    match word.funct3() {
        2 => Some(word.i_type(Flw)),
        3 => Some(word.i_type(Fld)),
        _ => None,
    }
}

fn store_fp(word: Word) -> Option<Instruction> {
    match word.funct3() {
        2 => Some(word.s_type(Fsw)),
        3 => Some(word.s_type(Fsd)),
        _ => None,
    }
}

/// Decodes a fence. The unused fields are reserved for finer fences, and must be ignored until then.
fn misc_mem(word: Word) -> Option<Instruction> {
    match word.funct3() {
        0 => {
            Some(Instruction { mode: word.field(20, 8) as u8, imm: word.field(28, 4) as i32, ..plain(Fence) })
        }
        1 => Some(plain(FenceI)),
        _ => None,
    }
}

fn op_imm(word: Word, xlen: Xlen) -> Option<Instruction> {
    let op = match word.funct3() {
        0 => Addi,
        2 => Slti,
        3 => Sltiu,
        4 => Xori,
        6 => Ori,
        7 => Andi,
        funct3 => return shift_imm(word, xlen, funct3 == 5),
    };
    Some(word.i_type(op))
}

fn shift_imm(word: Word, xlen: Xlen, right: bool) -> Option<Instruction> {
    let unary = match (right, word.field(20, 12), xlen) {
        (false, 0x600, _) => Some(Clz),
        (false, 0x601, _) => Some(Ctz),
        (false, 0x602, _) => Some(Cpop),
        (false, 0x604, _) => Some(SextB),
        (false, 0x605, _) => Some(SextH),
        (true, 0x287, _) => Some(OrcB),
        // REV8 has the encoding of a generalised reversal by XLEN - 8.
        (true, 0x698, Xlen::Rv32) | (true, 0x6b8, Xlen::Rv64) => Some(Rev8),
        _ => None,
    };
    if let Some(op) = unary {
        return Some(word.unary(op));
    }
    let op = match (right, word.field(26, 6)) {
        (false, 0b000000) => Slli,
        (false, 0b001010) => Bseti,
        (false, 0b010010) => Bclri,
        (false, 0b011010) => Binvi,
        (true, 0b000000) => Srli,
        (true, 0b010000) => Srai,
        (true, 0b010010) => Bexti,
        (true, 0b011000) => Rori,
        _ => return None,
    };
    let shamt = word.field(20, 6);
    (xlen == Xlen::Rv64 || shamt < 32).then_some(word.shift(op, shamt))
}

fn op_imm_32(word: Word) -> Option<Instruction> {
    let shamt = word.field(20, 5);
    Some(match (word.funct3(), word.funct7()) {
        (0, _) => word.i_type(Addiw),
        (1, 0b0000000) => word.shift(Slliw, shamt),
        (1, 0b0000100 | 0b0000101) => word.shift(SlliUw, word.field(20, 6)),
        (1, 0b0110000) => match shamt {
            0 => word.unary(Clzw),
            1 => word.unary(Ctzw),
            2 => word.unary(Cpopw),
            _ => return None,
        },
        (5, 0b0000000) => word.shift(Srliw, shamt),
        (5, 0b0100000) => word.shift(Sraiw, shamt),
        (5, 0b0110000) => word.shift(Roriw, shamt),
        _ => return None,
    })
}

fn op(word: Word, xlen: Xlen) -> Option<Instruction> {
    const BASE: [Op; 8] = [Add, Sll, Slt, Sltu, Xor, Srl, Or, And];
    const M: [Op; 8] = [Mul, Mulh, Mulhsu, Mulhu, Div, Divu, Rem, Remu];
    let funct3 = word.funct3();
    let op = match (word.funct7(), funct3) {
        (0b0000000, _) => BASE[funct3 as usize],
        (0b0000001, _) => M[funct3 as usize],
        (0b0000100, 4) if xlen == Xlen::Rv32 && word.rs2() == 0 => return Some(word.unary(ZextH)),
        (0b0000101, 4) => Min,
        (0b0000101, 5) => Minu,
        (0b0000101, 6) => Max,
        (0b0000101, 7) => Maxu,
        (0b0010000, 2) => Sh1add,
        (0b0010000, 4) => Sh2add,
        (0b0010000, 6) => Sh3add,
        (0b0010100, 1) => Bset,
        (0b0100000, 0) => Sub,
        (0b0100000, 4) => Xnor,
        (0b0100000, 5) => Sra,
        (0b0100000, 6) => Orn,
        (0b0100000, 7) => Andn,
        (0b0100100, 1) => Bclr,
        (0b0100100, 5) => Bext,
        (0b0110000, 1) => Rol,
        (0b0110000, 5) => Ror,
        (0b0110100, 1) => Binv,
        _ => return None,
    };
    Some(word.r_type(op))
}

fn op_32(word: Word) -> Option<Instruction> {
    let op = match (word.funct7(), word.funct3()) {
        (0b0000000, 0) => Addw,
        (0b0000000, 1) => Sllw,
        (0b0000000, 5) => Srlw,
        (0b0000001, 0) => Mulw,
        (0b0000001, 4) => Divw,
        (0b0000001, 5) => Divuw,
        (0b0000001, 6) => Remw,
        (0b0000001, 7) => Remuw,
        (0b0000100, 0) => AddUw,
        (0b0000100, 4) if word.rs2() == 0 => return Some(word.unary(ZextH)),
        (0b0010000, 2) => Sh1addUw,
        (0b0010000, 4) => Sh2addUw,
        (0b0010000, 6) => Sh3addUw,
        (0b0100000, 0) => Subw,
        (0b0100000, 5) => Sraw,
        (0b0110000, 1) => Rolw,
        (0b0110000, 5) => Rorw,
        _ => return None,
    };
    Some(word.r_type(op))
}

fn branch(word: Word) -> Option<Instruction> {
    let op = match word.funct3() {
        0 => Beq,
        1 => Bne,
        4 => Blt,
        5 => Bge,
        6 => Bltu,
        7 => Bgeu,
        _ => return None,
    };
    Some(Instruction { rs1: word.rs1(), rs2: word.rs2(), imm: word.imm_b(), ..plain(op) })
}

fn system(word: Word) -> Option<Instruction> {
    let op = match word.funct3() {
        0 => return privileged(word),
        1 => Csrrw,
        2 => Csrrs,
        3 => Csrrc,
        5 => Csrrwi,
        6 => Csrrsi,
        7 => Csrrci,
        _ => return None,
    };
    Some(word.shift(op, word.field(20, 12)))
}

fn privileged(word: Word) -> Option<Instruction> {
    Some(match word.0 {
        0x0000_0073 => plain(Ecall),
        0x0010_0073 => plain(Ebreak),
        0x1020_0073 => plain(Sret),
        0x1050_0073 => plain(Wfi),
        0x3020_0073 => plain(Mret),
        _ if word.funct7() == 0b0001001 && word.rd() == 0 => word.r_type(SfenceVma),
        _ => return None,
    })
}

fn amo(word: Word, xlen: Xlen) -> Option<Instruction> {
    let wide = match word.funct3() {
        2 => false,
        3 if xlen == Xlen::Rv64 => true,
        _ => return None,
    };
    let (w, d) = match word.field(27, 5) {
        0b00000 => (AmoaddW, AmoaddD),
        0b00001 => (AmoswapW, AmoswapD),
        0b00010 if word.rs2() == 0 => (LrW, LrD),
        0b00011 => (ScW, ScD),
        0b00100 => (AmoxorW, AmoxorD),
        0b01000 => (AmoorW, AmoorD),
        0b01100 => (AmoandW, AmoandD),
        0b10000 => (AmominW, AmominD),
        0b10100 => (AmomaxW, AmomaxD),
        0b11000 => (AmominuW, AmominuD),
        0b11100 => (AmomaxuW, AmomaxuD),
        _ => return None,
    };
    Some(Instruction { mode: word.field(25, 2) as u8, ..word.r_type(if wide { d } else { w }) })
}

/// Returns the rounding mode. 5 and 6 are reserved.
fn rounding(word: Word) -> Option<u8> {
    let mode = word.funct3() as u8;
    (mode != 5 && mode != 6).then_some(mode)
}

/// Returns `s` or `d`, as the format field says. Half and quad precision are not supported.
fn format(word: Word, s: Op, d: Op) -> Option<Op> {
    match word.field(25, 2) {
        0 => Some(s),
        1 => Some(d),
        _ => None,
    }
}

fn fused(word: Word, s: Op, d: Op) -> Option<Instruction> {
    let op = format(word, s, d)?;
    Some(Instruction { rs3: word.rs3(), mode: rounding(word)?, ..word.r_type(op) })
}

fn op_fp(word: Word, xlen: Xlen) -> Option<Instruction> {
    let (rs2, funct3) = (word.rs2(), word.funct3());
    // Two sources and a rounding mode.
    let arithmetic = |s, d| {
        let mode = rounding(word)?;
        Some(Instruction { mode, ..word.r_type(format(word, s, d)?) })
    };
    // One source and a rounding mode.
    let convert = |op| Some(Instruction { mode: rounding(word)?, ..word.unary(op) });
    match word.field(27, 5) {
        0b00000 => arithmetic(FaddS, FaddD),
        0b00001 => arithmetic(FsubS, FsubD),
        0b00010 => arithmetic(FmulS, FmulD),
        0b00011 => arithmetic(FdivS, FdivD),
        0b01011 if rs2 == 0 => convert(format(word, FsqrtS, FsqrtD)?),
        0b00100 => {
            let (s, d) = match funct3 {
                0 => (FsgnjS, FsgnjD),
                1 => (FsgnjnS, FsgnjnD),
                2 => (FsgnjxS, FsgnjxD),
                _ => return None,
            };
            Some(word.r_type(format(word, s, d)?))
        }
        0b00101 => {
            let (s, d) = match funct3 {
                0 => (FminS, FminD),
                1 => (FmaxS, FmaxD),
                _ => return None,
            };
            Some(word.r_type(format(word, s, d)?))
        }
        0b10100 => {
            let (s, d) = match funct3 {
                0 => (FleS, FleD),
                1 => (FltS, FltD),
                2 => (FeqS, FeqD),
                _ => return None,
            };
            Some(word.r_type(format(word, s, d)?))
        }
        // Conversion between formats: the source format is in rs2.
        0b01000 => match (word.field(25, 2), rs2) {
            (0, 1) => convert(FcvtSD),
            (1, 0) => convert(FcvtDS),
            _ => None,
        },
        0b11000 => {
            let (s, d) = match rs2 {
                0 => (FcvtWS, FcvtWD),
                1 => (FcvtWuS, FcvtWuD),
                2 if xlen == Xlen::Rv64 => (FcvtLS, FcvtLD),
                3 if xlen == Xlen::Rv64 => (FcvtLuS, FcvtLuD),
                _ => return None,
            };
            convert(format(word, s, d)?)
        }
        0b11010 => {
            let (s, d) = match rs2 {
                0 => (FcvtSW, FcvtDW),
                1 => (FcvtSWu, FcvtDWu),
                2 if xlen == Xlen::Rv64 => (FcvtSL, FcvtDL),
                3 if xlen == Xlen::Rv64 => (FcvtSLu, FcvtDLu),
                _ => return None,
            };
            convert(format(word, s, d)?)
        }
        0b11100 if rs2 == 0 => match (funct3, format(word, FmvXW, FmvXD)?) {
            (0, FmvXD) => Some(word.unary(rv64(xlen, FmvXD)?)),
            (0, op) => Some(word.unary(op)),
            (1, _) => Some(word.unary(format(word, FclassS, FclassD)?)),
            _ => None,
        },
        0b11110 if rs2 == 0 && funct3 == 0 => match format(word, FmvWX, FmvDX)? {
            FmvDX => Some(word.unary(rv64(xlen, FmvDX)?)),
            op => Some(word.unary(op)),
        },
        _ => None,
    }
}
