//! A64: Armv8-A and Armv9-A, AArch64 state.

use tracewright_core::Flow::{Indirect, Isb, TransactionStart, Wait};
use tracewright_core::Isa;
use tracewright_core::Role::{Call, ExceptionReturn, Jump, Return};

use crate::Instruction;
use crate::table::{Table, bits, direct, next, other, signed};

/// Decodes the instruction `word` at `address`.
#[inline]
pub fn decode(address: u64, word: u32) -> Instruction {
    if may_end_block(word) { TABLE.decode(4, address, word) } else { next(4, Isa::A64) }
}

/// Returns whether `word` may end a block. If false, it certainly does not. A fast filter to find the end of a block:
/// one mask and one comparison.
///
/// All instructions that end blocks are in one group of the encoding, "Branches, Exception Generating and System
/// instructions". Few other instructions of that group are common in programs.
#[inline]
pub const fn may_end_block(word: u32) -> bool {
    word & 0x1c00_0000 == 0x1400_0000
}

/// Returns whether `word` is undefined: UDF, or in one of the groups of the encoding that are reserved or not allocated as a whole. SME
/// has the reserved group's words with the highest bit set.
#[inline]
pub const fn is_undefined(word: u32) -> bool {
    const RESERVED: u32 = 1;
    const NOT_ALLOCATED: u32 = 1 << 0b0001 | 1 << 0b0011;
    let group = 1 << (word >> 25 & 15);
    group & NOT_ALLOCATED != 0 || group == RESERVED && word >> 31 == 0
}

/// Instructions in the order of the specification's index.
pub(crate) static TABLE: Table = Table::new(
    Isa::A64,
    &[
        // Compare and branch (FEAT_CMPBR). Conditions 100 and 101 are not allocated, hence two rows each.
        direct("CB<cc> (register)", (0x7f80_c000, 0x7400_0000), Jump, imm::<9>).conditional(),
        direct("CB<cc> (register)", (0x7fc0_c000, 0x74c0_0000), Jump, imm::<9>).conditional(),
        direct("CBB<cc>, CBH<cc>", (0xff80_8000, 0x7400_8000), Jump, imm::<9>).conditional(),
        direct("CBB<cc>, CBH<cc>", (0xffc0_8000, 0x74c0_8000), Jump, imm::<9>).conditional(),
        direct("CB<cc> (immediate)", (0x7f80_4000, 0x7500_0000), Jump, imm::<9>).conditional(),
        direct("CB<cc> (immediate)", (0x7fc0_4000, 0x75c0_0000), Jump, imm::<9>).conditional(),
        // Conditional branch (immediate)
        direct("B.cond, BC.cond", (0xff00_0000, 0x5400_0000), Jump, imm::<19>).conditional(),
        // Miscellaneous branch (immediate). The immediate is where LR was signed, not a target.
        other("RETAASPPC, RETABSPPC", (0xffc0_001f, 0x5500_001f), Indirect, Return),
        // System instructions with register argument
        other("WFET, WFIT", (0xffff_ffc0, 0xd503_1000), Wait, Jump),
        // Hints
        other("WFE, WFI", (0xffff_ffdf, 0xd503_205f), Wait, Jump),
        // Barriers
        other("ISB", (0xffff_f0ff, 0xd503_30df), Isb, Jump),
        // System with result
        other("TSTART", (0xffff_ffe0, 0xd523_3060), TransactionStart, Jump),
        // Unconditional branch (register). DRPS is left out: it exists in Debug state only.
        other("BR", (0xffff_fc1f, 0xd61f_0000), Indirect, Jump),
        other("BRAAZ, BRABZ", (0xffff_f81f, 0xd61f_081f), Indirect, Jump),
        other("BLR", (0xffff_fc1f, 0xd63f_0000), Indirect, Call),
        other("BLRAAZ, BLRABZ", (0xffff_f81f, 0xd63f_081f), Indirect, Call),
        other("RET", (0xffff_fc1f, 0xd65f_0000), Indirect, Return),
        // One row for all: the first two are the others with register 31.
        other("RETAA, RETAB, RETAASPPCR, RETABSPPCR", (0xffff_fbe0, 0xd65f_0be0), Indirect, Return),
        other("ERET", (0xffff_ffff, 0xd69f_03e0), Indirect, ExceptionReturn),
        other("ERETAA, ERETAB", (0xffff_fbff, 0xd69f_0bff), Indirect, ExceptionReturn),
        other("TEXIT", (0xffff_fbff, 0xd6ff_03e0), Indirect, ExceptionReturn),
        other("BRAA, BRAB", (0xffff_f800, 0xd71f_0800), Indirect, Jump),
        other("BLRAA, BLRAB", (0xffff_f800, 0xd73f_0800), Indirect, Call),
        // Unconditional branch (immediate)
        direct("B", (0xfc00_0000, 0x1400_0000), Jump, imm26),
        direct("BL", (0xfc00_0000, 0x9400_0000), Call, imm26),
        // Compare and branch (immediate)
        direct("CBZ, CBNZ", (0x7e00_0000, 0x3400_0000), Jump, imm::<19>).conditional(),
        // Test and branch (immediate)
        direct("TBZ, TBNZ", (0x7e00_0000, 0x3600_0000), Jump, imm::<14>).conditional(),
    ],
    24,
);

/// Returns the target at the offset in `BITS` bits from bit 5 on.
fn imm<const BITS: u32>(address: u64, word: u32) -> u64 {
    address.wrapping_add(signed(bits(word, 5, BITS), BITS) << 2)
}

fn imm26(address: u64, word: u32) -> u64 {
    address.wrapping_add(signed(word, 26) << 2)
}
