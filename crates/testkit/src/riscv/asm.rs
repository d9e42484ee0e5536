//! Encoders: one function for each instruction format of the unprivileged specification.
//!
//! They are written from the specification alone and without the tables of `tracewright-isa`, so that each can verify
//! the other. Offsets and immediates are whole numbers of bytes; the functions select the bits.

/// Returns bits `hi` to `lo` of `value`, moved to bit `at`.
const fn field(value: i32, hi: u32, lo: u32, at: u32) -> u32 {
    ((value as u32 >> lo) & ((1 << (hi - lo + 1)) - 1)) << at
}

/// Encodes register to register instructions.
pub fn r(opcode: u32, funct3: u32, funct7: u32, rd: u8, rs1: u8, rs2: u8) -> u32 {
    opcode | reg(rd, 7) | funct3 << 12 | reg(rs1, 15) | reg(rs2, 20) | funct7 << 25
}

/// Encodes instructions with three sources; `format` is 0 for single and 1 for double precision.
pub fn r4(opcode: u32, rm: u32, format: u32, rd: u8, sources: [u8; 3]) -> u32 {
    r(opcode, rm, format, rd, sources[0], sources[1]) | reg(sources[2], 27)
}

/// Encodes register and immediate; also loads and `jalr`.
pub fn i(opcode: u32, funct3: u32, rd: u8, rs1: u8, imm: i32) -> u32 {
    opcode | reg(rd, 7) | funct3 << 12 | reg(rs1, 15) | field(imm, 11, 0, 20)
}

/// Encodes stores.
pub fn s(opcode: u32, funct3: u32, rs1: u8, rs2: u8, imm: i32) -> u32 {
    opcode | field(imm, 4, 0, 7) | funct3 << 12 | reg(rs1, 15) | reg(rs2, 20) | field(imm, 11, 5, 25)
}

/// Encodes conditional branches.
pub fn b(funct3: u32, rs1: u8, rs2: u8, offset: i32) -> u32 {
    debug_assert!(fits(offset, 13) && offset % 2 == 0);
    let offset = field(offset, 4, 1, 8)
        | field(offset, 11, 11, 7)
        | field(offset, 10, 5, 25)
        | field(offset, 12, 12, 31);
    0x63 | funct3 << 12 | reg(rs1, 15) | reg(rs2, 20) | offset
}

/// Encodes `lui` (0x37) and `auipc` (0x17). The low 12 bits of `imm` are ignored.
pub fn u(opcode: u32, rd: u8, imm: i32) -> u32 {
    opcode | reg(rd, 7) | imm as u32 & 0xffff_f000
}

/// Encodes `jal`.
pub fn j(rd: u8, offset: i32) -> u32 {
    debug_assert!(fits(offset, 21) && offset % 2 == 0);
    let low = field(offset, 19, 12, 12) | field(offset, 11, 11, 20);
    0x6f | reg(rd, 7) | low | field(offset, 10, 1, 21) | field(offset, 20, 20, 31)
}

/// Encodes atomic operations; `funct3` is 2 for words and 3 for double words.
pub fn amo(funct5: u32, funct3: u32, order: u32, rd: u8, rs1: u8, rs2: u8) -> u32 {
    r(0x2f, funct3, funct5 << 2 | order, rd, rs1, rs2)
}

/// Encodes `c.jr`, `c.jalr`, `c.mv`, `c.add`.
pub fn cr(funct4: u32, rd: u8, rs2: u8) -> u32 {
    2 | funct4 << 12 | reg(rd, 7) | reg(rs2, 2)
}

/// Encodes register and 6-bit immediate.
pub fn ci(opcode: u32, funct3: u32, rd: u8, imm: i32) -> u32 {
    opcode | funct3 << 13 | reg(rd, 7) | field(imm, 5, 5, 12) | field(imm, 4, 0, 2)
}

/// Encodes `c.addi16sp`.
pub fn ci16(imm: i32) -> u32 {
    let low = field(imm, 4, 4, 6) | field(imm, 6, 6, 5) | field(imm, 8, 7, 3) | field(imm, 5, 5, 2);
    1 | 3 << 13 | reg(2, 7) | field(imm, 9, 9, 12) | low
}

/// Encodes loads of 4 or 8 bytes (`size`) from the stack.
pub fn ci_load(funct3: u32, size: i32, rd: u8, imm: i32) -> u32 {
    let low = if size == 4 {
        field(imm, 4, 2, 4) | field(imm, 7, 6, 2)
    } else {
        field(imm, 4, 3, 5) | field(imm, 8, 6, 2)
    };
    2 | funct3 << 13 | reg(rd, 7) | field(imm, 5, 5, 12) | low
}

/// Encodes stores of 4 or 8 bytes (`size`) to the stack.
pub fn css(funct3: u32, size: i32, rs2: u8, imm: i32) -> u32 {
    let imm = if size == 4 {
        field(imm, 5, 2, 9) | field(imm, 7, 6, 7)
    } else {
        field(imm, 5, 3, 10) | field(imm, 8, 6, 7)
    };
    2 | funct3 << 13 | reg(rs2, 2) | imm
}

/// Encodes `c.addi4spn`.
pub fn ciw(rd: u8, imm: i32) -> u32 {
    let imm = field(imm, 5, 4, 11) | field(imm, 9, 6, 7) | field(imm, 2, 2, 6) | field(imm, 3, 3, 5);
    short(rd, 2) | imm
}

/// Encodes loads and stores of 4 or 8 bytes (`size`); `data` is the register loaded or stored.
pub fn cl(funct3: u32, size: i32, data: u8, rs1: u8, imm: i32) -> u32 {
    let low = if size == 4 { field(imm, 2, 2, 6) | field(imm, 6, 6, 5) } else { field(imm, 7, 6, 5) };
    funct3 << 13 | field(imm, 5, 3, 10) | short(rs1, 7) | low | short(data, 2)
}

/// Encodes arithmetic of two registers; `bit12` selects the word operations.
pub fn ca(bit12: u32, funct2: u32, rd: u8, rs2: u8) -> u32 {
    1 | 4 << 13 | bit12 << 12 | 3 << 10 | short(rd, 7) | funct2 << 5 | short(rs2, 2)
}

/// Encodes `c.srli` (0), `c.srai` (1), `c.andi` (2).
pub fn cb_imm(funct2: u32, rd: u8, imm: i32) -> u32 {
    1 | 4 << 13 | field(imm, 5, 5, 12) | funct2 << 10 | short(rd, 7) | field(imm, 4, 0, 2)
}

/// Encodes `c.beqz` (6) and `c.bnez` (7).
pub fn cb(funct3: u32, rs1: u8, offset: i32) -> u32 {
    debug_assert!(fits(offset, 9) && offset % 2 == 0);
    let high = field(offset, 8, 8, 12) | field(offset, 4, 3, 10);
    let low = field(offset, 7, 6, 5) | field(offset, 2, 1, 3) | field(offset, 5, 5, 2);
    1 | funct3 << 13 | high | short(rs1, 7) | low
}

/// Encodes `c.j`.
pub fn cj(offset: i32) -> u32 {
    debug_assert!(fits(offset, 12) && offset % 2 == 0);
    let high = field(offset, 11, 11, 12)
        | field(offset, 4, 4, 11)
        | field(offset, 9, 8, 9)
        | field(offset, 10, 10, 8);
    let low =
        field(offset, 6, 6, 7) | field(offset, 7, 7, 6) | field(offset, 3, 1, 3) | field(offset, 5, 5, 2);
    1 | 5 << 13 | high | low
}

/// Returns whether a signed number fits into this many bits.
pub fn fits(value: i32, bits: u32) -> bool {
    (-(1 << (bits - 1))..1 << (bits - 1)).contains(&value)
}

/// Returns whether the 3-bit register fields of compressed instructions can name it: x8 to x15.
pub fn is_short(register: u8) -> bool {
    register & !7 == 8
}

fn reg(register: u8, at: u32) -> u32 {
    u32::from(register) << at
}

fn short(register: u8, at: u32) -> u32 {
    debug_assert!(is_short(register));
    u32::from(register & 7) << at
}
