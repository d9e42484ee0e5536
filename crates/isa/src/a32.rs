//! A32: Armv7-A, Armv7-R, and AArch32 state of Armv8, with 4-byte instructions.
//!
//! Addresses wrap at 2^32.

use tracewright_core::Flow::{Indirect, Isb, Wait};
use tracewright_core::Isa;
use tracewright_core::Role::{Call, ExceptionReturn, Jump, Return};

use crate::Instruction;
use crate::table::{Table, direct, other, signed};

/// Decodes the instruction `word` at `address`.
#[inline]
pub fn decode(address: u64, word: u32) -> Instruction {
    let condition = word >> 28;
    let table = if condition == 0b1111 { &UNCONDITIONAL } else { &CONDITIONAL };
    let mut instruction = table.decode(4, address, word);
    instruction.class.conditional = condition < 0b1110;
    instruction
}

/// Returns whether `word` is undefined: UDF, or in one of the two groups of unconditional instructions that are not allocated as a whole.
#[inline]
pub const fn is_undefined(word: u32) -> bool {
    word & 0xfff0_00f0 == 0xe7f0_00f0 || matches!(word >> 24, 0xf0 | 0xff)
}

/// Instructions with a condition in bits 31:28, in the order of the specification's index.
pub(crate) static CONDITIONAL: Table = Table::new(
    Isa::A32,
    &[
        // Data-processing (register, immediate shift), with PC for Rd. Comparisons have no Rd. Forms that shift by a
        // register are left out: they must not use PC.
        other("ANDS .. RSCS (register)", (0x0f10_f010, 0x0010_f000), Indirect, ExceptionReturn),
        other("AND .. RSC (register)", (0x0f10_f010, 0x0000_f000), Indirect, Jump),
        other("ORRS, MOVS, BICS, MVNS (register)", (0x0f90_f010, 0x0190_f000), Indirect, ExceptionReturn),
        other("MOV PC, LR", (0x0ff0_ffff, 0x01a0_f00e), Indirect, Return),
        other("ORR, MOV, BIC, MVN (register)", (0x0f90_f010, 0x0180_f000), Indirect, Jump),
        // Miscellaneous
        other("BX LR", (0x0ff0_00ff, 0x0120_001e), Indirect, Return),
        other("BX", (0x0ff0_00f0, 0x0120_0010), Indirect, Jump),
        other("BXJ", (0x0ff0_00f0, 0x0120_0020), Indirect, Jump),
        other("BLX (register)", (0x0ff0_00f0, 0x0120_0030), Indirect, Call),
        other("ERET", (0x0ff0_00f0, 0x0160_0060), Indirect, ExceptionReturn),
        // Data-processing (immediate), with PC for Rd. MOVW and MOVT are left out: they must not use PC.
        other("ANDS .. RSCS (immediate)", (0x0f10_f000, 0x0210_f000), Indirect, ExceptionReturn),
        other("AND .. RSC (immediate)", (0x0f10_f000, 0x0200_f000), Indirect, Jump),
        other("ORRS, MOVS, BICS, MVNS (immediate)", (0x0f90_f000, 0x0390_f000), Indirect, ExceptionReturn),
        other("ORR, MOV, BIC, MVN (immediate)", (0x0f90_f000, 0x0380_f000), Indirect, Jump),
        // Move special register and hints (immediate)
        other("WFE, WFI", (0x0fff_00fe, 0x0320_0002), Wait, Jump),
        // Load word, with PC for Rt. LDRT is left out: it must not use PC.
        other("LDR PC, [SP], #imm", (0x0fff_f000, 0x049d_f000), Indirect, Return),
        other("LDR (immediate), post-indexed", (0x0f70_f000, 0x0410_f000), Indirect, Jump),
        other("LDR (literal, immediate)", (0x0f50_f000, 0x0510_f000), Indirect, Jump),
        other("LDR (register), post-indexed", (0x0f70_f010, 0x0610_f000), Indirect, Jump),
        other("LDR (register)", (0x0f50_f010, 0x0710_f000), Indirect, Jump),
        // Load multiple, with PC in the list. If SP is also in the list, it is unknown afterwards: not a pop.
        other("LDM (exception return)", (0x0e50_8000, 0x0850_8000), Indirect, ExceptionReturn),
        other("LDMIA SP!", (0x0fff_a000, 0x08bd_8000), Indirect, Return),
        other("LDM, LDMDA, LDMDB, LDMIB", (0x0e50_8000, 0x0810_8000), Indirect, Jump),
        // Branch (immediate)
        direct("B", (0x0f00_0000, 0x0a00_0000), Jump, imm24),
        direct("BL", (0x0f00_0000, 0x0b00_0000), Call, imm24),
        // System register move: the barrier of Armv6, deprecated.
        other("MCR p15, 0, Rt, c7, c5, 4 (CP15ISB)", (0x0fff_0fff, 0x0e07_0f95), Isb, Jump),
    ],
    20,
);

/// Instructions with 1111 in bits 31:28.
pub(crate) static UNCONDITIONAL: Table = Table::new(
    Isa::A32,
    &[
        other("ISB", (0xfff0_00f0, 0xf570_0060), Isb, Jump),
        other("RFE, RFEDA, RFEDB, RFEIB", (0xfe50_0000, 0xf810_0000), Indirect, ExceptionReturn),
        direct("BLX (immediate)", (0xfe00_0000, 0xfa00_0000), Call, imm24_h).to(Isa::T32),
    ],
    20,
);

fn imm24(address: u64, word: u32) -> u64 {
    address.wrapping_add(8).wrapping_add(signed(word, 24) << 2) & 0xffff_ffff
}

/// Returns the target of BLX, which can reach every halfword: bit 24, H, is bit 1 of the offset.
fn imm24_h(address: u64, word: u32) -> u64 {
    imm24(address.wrapping_add(u64::from(word >> 23 & 2)), word)
}
