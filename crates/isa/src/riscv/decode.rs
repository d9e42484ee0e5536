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
        0b00000 => word.i_type(word.by_funct3([Lb, Lh, Lw, Ld, Lbu, Lhu, Lwu, Illegal])),
        0b00001 => {
            word.i_type(word.by_funct3([Illegal, Illegal, Flw, Fld, Illegal, Illegal, Illegal, Illegal]))
        }
        0b00011 => misc_mem(word),
        0b00100 => op_imm(word, xlen),
        0b00101 => Instruction { rd: word.rd(), imm: word.imm_u(), ..plain(Auipc) },
        0b00110 if xlen == Xlen::Rv64 => op_imm_32(word),
        0b01000 => word.s_type(word.by_funct3([Sb, Sh, Sw, Sd, Illegal, Illegal, Illegal, Illegal])),
        0b01001 => {
            word.s_type(word.by_funct3([Illegal, Illegal, Fsw, Fsd, Illegal, Illegal, Illegal, Illegal]))
        }
        0b01011 => amo(word, xlen),
        0b01100 => op(word, xlen),
        0b01101 => Instruction { rd: word.rd(), imm: word.imm_u(), ..plain(Lui) },
        0b01110 if xlen == Xlen::Rv64 => op_32(word),
        0b10000 => word.fused(FmaddS, FmaddD),
        0b10001 => word.fused(FmsubS, FmsubD),
        0b10010 => word.fused(FnmsubS, FnmsubD),
        0b10011 => word.fused(FnmaddS, FnmaddD),
        0b10100 => op_fp(word),
        0b11000 => branch(word),
        0b11001 if word.funct3() == 0 => word.i_type(Jalr),
        0b11011 => Instruction { rd: word.rd(), imm: word.imm_j(), ..plain(Jal) },
        0b11100 => system(word),
        _ => plain(Illegal),
    };
    match found.op {
        Illegal => plain(Illegal),
        op if xlen == Xlen::Rv32 && is_rv64_only(op) => plain(Illegal),
        _ => found,
    }
}

/// Returns whether RV32 does not have an operation, although it has others with the same opcode.
fn is_rv64_only(op: Op) -> bool {
    matches!(op, Ld | Lwu | Sd | FmvXD | FmvDX)
        || matches!(op, FcvtLS | FcvtLuS | FcvtSL | FcvtSLu | FcvtLD | FcvtLuD | FcvtDL | FcvtDLu)
}

/// Returns the length in bytes, 2 or 4, of the instruction with these first 16 bits.
pub const fn len(first_halfword: u16) -> u8 {
    if first_halfword & 3 == 3 { 4 } else { 2 }
}

/// Returns whether an instruction with these first 16 bits is undefined: all bits are zero or one, or the specification reserves the
/// encoding of a compressed instruction.
#[inline]
pub const fn is_undefined(xlen: Xlen, first_halfword: u16) -> bool {
    let rd_is_zero = first_halfword & 0x0f80 == 0;
    match first_halfword & 0xe003 {
        // C.ADDI4SPN of 0, which zeros are, too.
        0x0000 => first_halfword & 0x1fe0 == 0,
        // C.ADDIW.
        0x2001 => matches!(xlen, Xlen::Rv64) && rd_is_zero,
        // C.LWSP, C.LDSP.
        0x4002 => rd_is_zero,
        0x6002 => matches!(xlen, Xlen::Rv64) && rd_is_zero,
        // C.JR.
        0x8002 => first_halfword == 0x8002,
        _ => first_halfword == 0xffff,
    }
}

/// Creates a 4-byte instruction without operands.
pub(super) const fn plain(op: Op) -> Instruction {
    Instruction { op, len: 4, rd: 0, rs1: 0, rs2: 0, rs3: 0, mode: 0, imm: 0 }
}

#[derive(Clone, Copy)]
struct Word(u32);

impl Word {
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

    const fn by_funct3(self, ops: [Op; 8]) -> Op {
        ops[self.funct3() as usize]
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

    /// Returns `s` or `d`, as the format field says. Half and quad precision are not supported.
    const fn format(self, s: Op, d: Op) -> Op {
        match self.field(25, 2) {
            0 => s,
            1 => d,
            _ => Illegal,
        }
    }

    /// Adds a rounding mode. 5 and 6 are reserved.
    const fn rounded(self, instruction: Instruction) -> Instruction {
        match self.funct3() {
            5 | 6 => plain(Illegal),
            mode => Instruction { mode: mode as u8, ..instruction },
        }
    }

    const fn fused(self, s: Op, d: Op) -> Instruction {
        self.rounded(Instruction { rs3: self.rs3(), ..self.r_type(self.format(s, d)) })
    }
}

/// Decodes a fence. The unused fields are reserved for finer fences, and must be ignored until then.
fn misc_mem(word: Word) -> Instruction {
    match word.funct3() {
        0 => Instruction { mode: word.field(20, 8) as u8, imm: word.field(28, 4) as i32, ..plain(Fence) },
        1 => plain(FenceI),
        _ => plain(Illegal),
    }
}

fn op_imm(word: Word, xlen: Xlen) -> Instruction {
    match word.by_funct3([Addi, Illegal, Slti, Sltiu, Xori, Illegal, Ori, Andi]) {
        Illegal => shift_imm(word, xlen, word.funct3() == 5),
        op => word.i_type(op),
    }
}

fn shift_imm(word: Word, xlen: Xlen, right: bool) -> Instruction {
    let unary = match (right, word.field(20, 12), xlen) {
        (false, 0x600, _) => Clz,
        (false, 0x601, _) => Ctz,
        (false, 0x602, _) => Cpop,
        (false, 0x604, _) => SextB,
        (false, 0x605, _) => SextH,
        (true, 0x287, _) => OrcB,
        // REV8 has the encoding of a generalised reversal by XLEN - 8.
        (true, 0x698, Xlen::Rv32) | (true, 0x6b8, Xlen::Rv64) => Rev8,
        _ => Illegal,
    };
    if unary != Illegal {
        return word.unary(unary);
    }
    let shamt = word.field(20, 6);
    let op = match (right, word.field(26, 6)) {
        _ if xlen == Xlen::Rv32 && shamt >= 32 => Illegal,
        (false, 0b000000) => Slli,
        (false, 0b001010) => Bseti,
        (false, 0b010010) => Bclri,
        (false, 0b011010) => Binvi,
        (true, 0b000000) => Srli,
        (true, 0b010000) => Srai,
        (true, 0b010010) => Bexti,
        (true, 0b011000) => Rori,
        _ => Illegal,
    };
    word.shift(op, shamt)
}

fn op_imm_32(word: Word) -> Instruction {
    let shamt = word.field(20, 5);
    match (word.funct3(), word.funct7(), shamt) {
        (0, ..) => word.i_type(Addiw),
        (1, 0b0000000, _) => word.shift(Slliw, shamt),
        (1, 0b0000100 | 0b0000101, _) => word.shift(SlliUw, word.field(20, 6)),
        (1, 0b0110000, 0) => word.unary(Clzw),
        (1, 0b0110000, 1) => word.unary(Ctzw),
        (1, 0b0110000, 2) => word.unary(Cpopw),
        (5, 0b0000000, _) => word.shift(Srliw, shamt),
        (5, 0b0100000, _) => word.shift(Sraiw, shamt),
        (5, 0b0110000, _) => word.shift(Roriw, shamt),
        _ => plain(Illegal),
    }
}

fn op(word: Word, xlen: Xlen) -> Instruction {
    let op = match (word.funct7(), word.funct3()) {
        (0b0000000, _) => word.by_funct3([Add, Sll, Slt, Sltu, Xor, Srl, Or, And]),
        (0b0000001, _) => word.by_funct3([Mul, Mulh, Mulhsu, Mulhu, Div, Divu, Rem, Remu]),
        (0b0000100, 4) if xlen == Xlen::Rv32 && word.rs2() == 0 => return word.unary(ZextH),
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
        _ => Illegal,
    };
    word.r_type(op)
}

fn op_32(word: Word) -> Instruction {
    let op = match (word.funct7(), word.funct3()) {
        (0b0000000, 0) => Addw,
        (0b0000000, 1) => Sllw,
        (0b0000000, 5) => Srlw,
        (0b0000001, _) => word.by_funct3([Mulw, Illegal, Illegal, Illegal, Divw, Divuw, Remw, Remuw]),
        (0b0000100, 0) => AddUw,
        (0b0000100, 4) if word.rs2() == 0 => return word.unary(ZextH),
        (0b0010000, 2) => Sh1addUw,
        (0b0010000, 4) => Sh2addUw,
        (0b0010000, 6) => Sh3addUw,
        (0b0100000, 0) => Subw,
        (0b0100000, 5) => Sraw,
        (0b0110000, 1) => Rolw,
        (0b0110000, 5) => Rorw,
        _ => Illegal,
    };
    word.r_type(op)
}

fn branch(word: Word) -> Instruction {
    let op = word.by_funct3([Beq, Bne, Illegal, Illegal, Blt, Bge, Bltu, Bgeu]);
    Instruction { rs1: word.rs1(), rs2: word.rs2(), imm: word.imm_b(), ..plain(op) }
}

fn system(word: Word) -> Instruction {
    match word.0 {
        0x0000_0073 => plain(Ecall),
        0x0010_0073 => plain(Ebreak),
        0x1020_0073 => plain(Sret),
        0x1050_0073 => plain(Wfi),
        0x3020_0073 => plain(Mret),
        _ if (word.funct3(), word.funct7(), word.rd()) == (0, 0b0001001, 0) => word.r_type(SfenceVma),
        _ => {
            let op = word.by_funct3([Illegal, Csrrw, Csrrs, Csrrc, Illegal, Csrrwi, Csrrsi, Csrrci]);
            word.shift(op, word.field(20, 12))
        }
    }
}

fn amo(word: Word, xlen: Xlen) -> Instruction {
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
        _ => (Illegal, Illegal),
    };
    let op = match word.funct3() {
        2 => w,
        3 if xlen == Xlen::Rv64 => d,
        _ => Illegal,
    };
    Instruction { mode: word.field(25, 2) as u8, ..word.r_type(op) }
}

fn op_fp(word: Word) -> Instruction {
    let funct5 = word.field(27, 5);
    let (s, d) = match (funct5, word.funct3(), word.rs2()) {
        (0b00000, ..) => (FaddS, FaddD),
        (0b00001, ..) => (FsubS, FsubD),
        (0b00010, ..) => (FmulS, FmulD),
        (0b00011, ..) => (FdivS, FdivD),
        (0b00100, 0, _) => (FsgnjS, FsgnjD),
        (0b00100, 1, _) => (FsgnjnS, FsgnjnD),
        (0b00100, 2, _) => (FsgnjxS, FsgnjxD),
        (0b00101, 0, _) => (FminS, FminD),
        (0b00101, 1, _) => (FmaxS, FmaxD),
        // Conversion between formats: the source format is in rs2.
        (0b01000, _, 0) => (Illegal, FcvtDS),
        (0b01000, _, 1) => (FcvtSD, Illegal),
        (0b01011, _, 0) => (FsqrtS, FsqrtD),
        (0b10100, 0, _) => (FleS, FleD),
        (0b10100, 1, _) => (FltS, FltD),
        (0b10100, 2, _) => (FeqS, FeqD),
        (0b11000, _, 0) => (FcvtWS, FcvtWD),
        (0b11000, _, 1) => (FcvtWuS, FcvtWuD),
        (0b11000, _, 2) => (FcvtLS, FcvtLD),
        (0b11000, _, 3) => (FcvtLuS, FcvtLuD),
        (0b11010, _, 0) => (FcvtSW, FcvtDW),
        (0b11010, _, 1) => (FcvtSWu, FcvtDWu),
        (0b11010, _, 2) => (FcvtSL, FcvtDL),
        (0b11010, _, 3) => (FcvtSLu, FcvtDLu),
        (0b11100, 0, 0) => (FmvXW, FmvXD),
        (0b11100, 1, 0) => (FclassS, FclassD),
        (0b11110, 0, 0) => (FmvWX, FmvDX),
        _ => (Illegal, Illegal),
    };
    let op = word.format(s, d);
    match funct5 {
        0b00000..=0b00011 => word.rounded(word.r_type(op)),
        0b00100 | 0b00101 | 0b10100 => word.r_type(op),
        0b11100 | 0b11110 => word.unary(op),
        // Conversions and square roots.
        _ => word.rounded(word.unary(op)),
    }
}
