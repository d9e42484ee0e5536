//! T32: Armv7-A, Armv7-R, AArch32 state of Armv8, and all of M profile, with 2- and 4-byte instructions.
//!
//! Addresses wrap at 2^32.

use tracewright_core::Flow::{Indirect, Isb, Next, Wait};
use tracewright_core::Isa;
use tracewright_core::Role::{Call, ExceptionReturn, Jump, LoopEnd, Return};

use crate::table::{Table, bits, direct, other, signed};
use crate::{Instruction, ItState};

/// Decodes the instruction `word` at `address`. The first halfword is in the upper half of the word. The lower half
/// is ignored if the instruction has only one halfword.
///
/// `it` is the state of the IT block before the instruction. It is advanced over the instruction.
#[inline]
pub fn decode(address: u64, word: u32, it: &mut ItState) -> Instruction {
    let first = word >> 16;
    let len = len(first as u16);
    let (table, key) = if len == 2 { (&NARROW, first) } else { (&WIDE, word) };
    let mut instruction = table.decode_as(len, address, key, word);
    instruction.class.conditional |= it.step();
    if first & 0xff00 == 0xbf00 && first & 0xf != 0 {
        *it = ItState::begin(first & 0xf);
    }
    instruction
}

/// Returns the length in bytes, 2 or 4, of the instruction with this first halfword.
#[inline]
pub const fn len(first: u16) -> u8 {
    if first < 0xe800 { 2 } else { 4 }
}

/// Returns whether `word`, which is arranged as [`decode`] takes it, is undefined: UDF, or all bits are one, as in memory that was never
/// written.
#[inline]
pub const fn is_undefined(word: u32) -> bool {
    word >> 24 == 0xde || word & 0xfff0_f000 == 0xf7f0_a000 || word == u32::MAX
}

/// 16-bit instructions, in the order of the specification's index.
pub(crate) static NARROW: Table = Table::new(
    Isa::T32,
    &[
        // Add, compare, move (two high registers), with PC for Rd
        other("ADD (register)", (0xff87, 0x4487), Indirect, Jump),
        other("MOV PC, LR", (0xffff, 0x46f7), Indirect, Return),
        other("MOV (register)", (0xff87, 0x4687), Indirect, Jump),
        // Branch and exchange; bit 2 makes it BXNS, BLXNS in Armv8-M
        other("BX LR", (0xfff8, 0x4770), Indirect, Return),
        other("BX", (0xff80, 0x4700), Indirect, Jump),
        other("BLX (register)", (0xff80, 0x4780), Indirect, Call),
        // Miscellaneous
        direct("CBZ, CBNZ", (0xf500, 0xb100), Jump, imm6).conditional(),
        other("POP {.., PC}", (0xff00, 0xbd00), Indirect, Return),
        other("WFE, WFI", (0xffef, 0xbf20), Wait, Jump),
        // Conditional branch, and the instructions in place of conditions 1110 and 1111
        other("UDF, SVC", (0xfe00, 0xde00), Next, Jump),
        direct("B T1", (0xf000, 0xd000), Jump, imm8).conditional(),
        direct("B T2", (0xf800, 0xe000), Jump, imm11),
    ],
    8,
);

/// 32-bit instructions, in the order of the specification's index.
pub(crate) static WIDE: Table = Table::new(
    Isa::T32,
    &[
        // System register move: the barrier of Armv6, deprecated.
        other("MCR p15, 0, Rt, c7, c5, 4 (CP15ISB)", (0xffff_0fff, 0xee07_0f95), Isb, Jump),
        // Load multiple, with PC in the list. With base PC it is UNPREDICTABLE, and CLRM in Armv8.1-M.
        other("RFEDB", (0xffd0_0000, 0xe810_0000), Indirect, ExceptionReturn),
        other("CLRM", (0xffff_0000, 0xe89f_0000), Next, Jump),
        other("LDMIA SP!", (0xffff_8000, 0xe8bd_8000), Indirect, Return),
        other("LDM", (0xffd0_8000, 0xe890_8000), Indirect, Jump),
        other("LDMDB", (0xffd0_8000, 0xe910_8000), Indirect, Jump),
        other("RFEIA", (0xffd0_0000, 0xe990_0000), Indirect, ExceptionReturn),
        // Table branch
        other("TBB, TBH", (0xfff0_00e0, 0xe8d0_0000), Indirect, Jump),
        // Branches and miscellaneous control
        other("WFE, WFI", (0xfff0_d7fe, 0xf3a0_8002), Wait, Jump),
        other("ISB", (0xfff0_d0f0, 0xf3b0_8060), Isb, Jump),
        other("BXJ", (0xfff0_d000, 0xf3c0_8000), Indirect, Jump),
        other("SUBS PC, LR, #imm and ERET", (0xfff0_d000, 0xf3d0_8000), Indirect, ExceptionReturn),
        other("the rest, where conditions 1110 and 1111 were", (0xfb80_d000, 0xf380_8000), Next, Jump),
        direct("B T3", (0xf800_d000, 0xf000_8000), Jump, imm17).conditional(),
        direct("B T4", (0xf800_d000, 0xf000_9000), Jump, imm24),
        // If the H bit, bit 0, is set, BLX is UNDEFINED. Armv8.1-M has its loops there.
        direct("BLX (immediate)", (0xf800_d001, 0xf000_c000), Call, imm24_aligned).to(Isa::A32),
        direct("BL", (0xf800_d000, 0xf000_d000), Call, imm24),
        // Loops (Armv8.1-M). LE without LR repeats for ever.
        direct("LE LR", (0xffff_f001, 0xf00f_c001), LoopEnd, back11).conditional(),
        direct("LETP LR", (0xffff_f001, 0xf01f_c001), LoopEnd, back11).conditional(),
        direct("LE", (0xffff_f001, 0xf02f_c001), LoopEnd, back11),
        direct("WLS", (0xfff0_f001, 0xf040_c001), Jump, ahead11).conditional(),
        direct("WLSTP", (0xffc0_f001, 0xf000_c001), Jump, ahead11).conditional(),
        // Load word, with PC for Rt. LDRT is left out: it must not use PC.
        other("LDR (literal)", (0xff7f_f000, 0xf85f_f000), Indirect, Jump),
        other("LDR (register)", (0xfff0_ffc0, 0xf850_f000), Indirect, Jump),
        other("LDR PC, [SP], #imm", (0xffff_ff00, 0xf85d_fb00), Indirect, Return),
        other("LDR (immediate) T4, indexed", (0xfff0_f900, 0xf850_f900), Indirect, Jump),
        other("LDR (immediate) T4, negative", (0xfff0_ff00, 0xf850_fc00), Indirect, Jump),
        other("LDR (immediate) T3", (0xfff0_f000, 0xf8d0_f000), Indirect, Jump),
        // Multiply: SMMLAR into PC is UNPREDICTABLE, and BXAUT in Armv8.1-M.
        other("BXAUT with LR", (0xffff_0ff0, 0xfb5e_0f10), Indirect, Return),
        other("BXAUT", (0xfff0_0ff0, 0xfb50_0f10), Indirect, Jump),
    ],
    24,
);

/// Returns the address at `offset` from PC, which reads as the address plus 4.
const fn from_pc(address: u64, offset: u64) -> u64 {
    address.wrapping_add(4).wrapping_add(offset) & 0xffff_ffff
}

/// Returns the target at i:imm5:0, forward only.
fn imm6(address: u64, word: u32) -> u64 {
    from_pc(address, u64::from(bits(word, 25, 1) << 6 | bits(word, 19, 5) << 1))
}

fn imm8(address: u64, word: u32) -> u64 {
    from_pc(address, signed(bits(word, 16, 8), 8) << 1)
}

fn imm11(address: u64, word: u32) -> u64 {
    from_pc(address, signed(bits(word, 16, 11), 11) << 1)
}

/// Returns the target at S:J2:J1:imm6:imm11:0.
fn imm17(address: u64, word: u32) -> u64 {
    let (s, j1, j2) = (bits(word, 26, 1), bits(word, 13, 1), bits(word, 11, 1));
    let offset = s << 19 | j2 << 18 | j1 << 17 | bits(word, 16, 6) << 11 | bits(word, 0, 11);
    from_pc(address, signed(offset, 20) << 1)
}

/// Returns the target at S:I1:I2:imm10:imm11:0, where I1 and I2 are J1 and J2, inverted unless S is set.
fn imm24(address: u64, word: u32) -> u64 {
    let s = bits(word, 26, 1);
    let (i1, i2) = (bits(word, 13, 1) ^ s ^ 1, bits(word, 11, 1) ^ s ^ 1);
    let offset = s << 23 | i1 << 22 | i2 << 21 | bits(word, 16, 10) << 11 | bits(word, 0, 11);
    from_pc(address, signed(offset, 24) << 1)
}

/// Returns the target like [`imm24`], but from PC aligned to 4, since A32 instructions are aligned.
fn imm24_aligned(address: u64, word: u32) -> u64 {
    imm24(address & !3, word)
}

/// Returns the offset immh:imml:0.
const fn imm_loop(word: u32) -> u64 {
    (bits(word, 1, 10) << 2 | bits(word, 11, 1) << 1) as u64
}

fn back11(address: u64, word: u32) -> u64 {
    from_pc(address, imm_loop(word).wrapping_neg())
}

fn ahead11(address: u64, word: u32) -> u64 {
    from_pc(address, imm_loop(word))
}
