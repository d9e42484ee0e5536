use tracewright_core::Isa;

use crate::{riscv, t32};

/// Returns whether the instruction at the start of `bytes` may access memory, and thus fault. Returns true for all
/// instructions that do, for a few that do not, and if there are too few bytes.
///
/// The answer is only as exact as the large groups of the encoding. Use it to find where execution may have been
/// interrupted.
pub fn may_access(isa: Isa, bytes: &[u8]) -> bool {
    let half = bytes.first_chunk().map(|&half| u16::from_le_bytes(half));
    let word = bytes.first_chunk().map(|&word| u32::from_le_bytes(word));
    match isa {
        Isa::A64 => word.is_none_or(a64),
        Isa::A32 => word.is_none_or(a32),
        Isa::T32 => half.is_none_or(|half| if t32::len(half) == 2 { narrow(half) } else { wide(half) }),
        Isa::Rv32 | Isa::Rv64 => match half {
            Some(half) if riscv::len(half) == 2 => compressed(half),
            _ => word.is_none_or(risc_v),
        },
    }
}

fn a64(bits: u32) -> bool {
    // Loads and stores; all of SVE and SME; SYS, which includes cache operations (DC ZVA writes).
    bits & 0x0a00_0000 == 0x0800_0000
        || bits & 0x1e00_0000 == 0x0400_0000
        || bits & 0x1e00_0000 == 0 && bits >> 31 == 1
        || bits & 0xfff8_0000 == 0xd508_0000
}

fn a32(bits: u32) -> bool {
    let is_unconditional = bits >> 28 == 0xf;
    match bits >> 25 & 7 {
        // Extra loads and stores, exclusives.
        0 => !is_unconditional && bits & 0x90 == 0x90 && (bits & 0x60 != 0 || bits & 1 << 24 != 0),
        2 | 4 | 6 => true,
        // Media instructions have bit 4 set.
        3 => is_unconditional || bits & 0x10 == 0,
        _ => false,
    }
}

/// Classifies a 16-bit instruction of T32.
fn narrow(half: u16) -> bool {
    match half >> 11 {
        0b01001 | 0b01010..=0b10011 | 0b11000 | 0b11001 => true,
        // PUSH and POP.
        0b10110 | 0b10111 => half & 0x0600 == 0x0400,
        _ => false,
    }
}

/// Classifies a 32-bit instruction of T32 by its first halfword.
fn wide(half: u16) -> bool {
    // Multiple, dual, exclusive and table branch; single loads and stores, SIMD included; coprocessor.
    matches!(half >> 9, 0b111_0100 | 0b111_1100 | 0b111_0110 | 0b111_1110)
}

/// Classifies a 16-bit instruction of RISC-V.
fn compressed(half: u16) -> bool {
    match half & 3 {
        0 => half >> 13 != 0,
        2 => !matches!(half >> 13, 0 | 4),
        _ => false,
    }
}

/// Classifies a 32-bit instruction of RISC-V.
fn risc_v(bits: u32) -> bool {
    match bits & 0x7f {
        // OP, OP-IMM and variants, LUI, AUIPC, branches, jumps, floating point.
        0x13 | 0x1b | 0x33 | 0x3b | 0x37 | 0x17 | 0x63 | 0x67 | 0x6f | 0x43 | 0x47 | 0x4b | 0x4f | 0x53
        | 0x57 => false,
        // SYSTEM has only hypervisor loads and stores. FENCE has operations on cache blocks, which count.
        0x73 => bits >> 12 & 7 == 4,
        0x0f => bits >> 12 & 7 == 2,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_access_memory() {
        // The first halfword of T32 is the lower one.
        let lines: [(Isa, u32, bool); 42] = [
            (Isa::A64, 0xf940_0020, true),   // ldr x0, [x1]
            (Isa::A64, 0xa9bf_7bfd, true),   // stp x29, x30, [sp, #-16]!
            (Isa::A64, 0xc85f_7c20, true),   // ldxr x0, [x1]
            (Isa::A64, 0x4c40_7000, true),   // ld1 {v0.16b}, [x0]
            (Isa::A64, 0x5800_0040, true),   // ldr x0, .+8
            (Isa::A64, 0xd50b_7420, true),   // dc zva, x0
            (Isa::A64, 0xf8e0_0020, true),   // ldaddal x0, x0, [x1]
            (Isa::A64, 0x9100_0421, false),  // add x1, x1, #1
            (Isa::A64, 0x1e60_2820, false),  // fadd d0, d1, d0
            (Isa::A64, 0xd503_201f, false),  // nop
            (Isa::A64, 0xd65f_03c0, false),  // ret
            (Isa::A32, 0xe591_0000, true),   // ldr r0, [r1]
            (Isa::A32, 0xe791_0002, true),   // ldr r0, [r1, r2]
            (Isa::A32, 0xe1d1_00b0, true),   // ldrh r0, [r1]
            (Isa::A32, 0xe191_0f9f, true),   // ldrex r0, [r1]
            (Isa::A32, 0xe92d_4010, true),   // push {r4, lr}
            (Isa::A32, 0xed90_0b00, true),   // vldr d0, [r0]
            (Isa::A32, 0xf421_070f, true),   // vld1.8 {d0}, [r1]
            (Isa::A32, 0xe081_0002, false),  // add r0, r1, r2
            (Isa::A32, 0xe000_0291, false),  // mul r0, r1, r2
            (Isa::A32, 0xe6ef_0071, false),  // uxtb r0, r1
            (Isa::A32, 0xe12f_ff1e, false),  // bx lr
            (Isa::T32, 0x6808, true),        // ldr r0, [r1]
            (Isa::T32, 0xb510, true),        // push {r4, lr}
            (Isa::T32, 0xbd10, true),        // pop {r4, pc}
            (Isa::T32, 0xc80f, true),        // ldm r0!, {r0-r3}
            (Isa::T32, 0x81f0_e8bd, true),   // pop.w {...}
            (Isa::T32, 0xf000_e8df, true),   // tbb [pc, r0]
            (Isa::T32, 0x0b00_ed90, true),   // vldr d0, [r0]
            (Isa::T32, 0x1c48, false),       // adds r0, r1, #1
            (Isa::T32, 0xbf00, false),       // nop
            (Isa::T32, 0x0100_f04f, false),  // mov.w r1, #0
            (Isa::T32, 0xf8fc_f000, false),  // bl
            (Isa::Rv64, 0x0005_3503, true),  // ld a0, 0(a0)
            (Isa::Rv64, 0x00a5_3023, true),  // sd a0, 0(a0)
            (Isa::Rv64, 0x00b5_252f, true),  // amoadd.w a0, a1, (a0)
            (Isa::Rv64, 0x6108, true),       // c.ld a0, 0(a0)
            (Isa::Rv64, 0x6502, true),       // c.ldsp a0, 0(sp)
            (Isa::Rv64, 0x0001, false),      // c.nop
            (Isa::Rv64, 0x8082, false),      // ret
            (Isa::Rv64, 0x0015_0513, false), // addi a0, a0, 1
            (Isa::Rv64, 0x0000_100f, false), // fence.i
        ];
        for (isa, bits, expected) in lines {
            assert_eq!(may_access(isa, &bits.to_le_bytes()), expected, "{isa} {bits:#x}");
        }
    }
}
