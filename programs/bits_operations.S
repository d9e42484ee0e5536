# Each instruction of Zba, Zbb and Zbs as a function: u64 do_NAME(u64 a, u64 b). Immediates are as bits.c says.
    .option arch, +zba, +zbb, +zbs

    .macro operation name, instruction:vararg
    .section .text.do_\name, "ax", @progbits
    .globl do_\name
    .type do_\name, @function
do_\name:
    \instruction
    ret
    .size do_\name, . - do_\name
    .endm

    # Zba: addresses.
    operation add_uw, add.uw a0, a0, a1
    operation sh1add, sh1add a0, a0, a1
    operation sh2add, sh2add a0, a0, a1
    operation sh3add, sh3add a0, a0, a1
    operation sh1add_uw, sh1add.uw a0, a0, a1
    operation sh2add_uw, sh2add.uw a0, a0, a1
    operation sh3add_uw, sh3add.uw a0, a0, a1
    operation slli_uw, slli.uw a0, a0, 37

    # Zbb: basic.
    operation andn, andn a0, a0, a1
    operation orn, orn a0, a0, a1
    operation xnor, xnor a0, a0, a1
    operation clz, clz a0, a0
    operation clzw, clzw a0, a0
    operation ctz, ctz a0, a0
    operation ctzw, ctzw a0, a0
    operation cpop, cpop a0, a0
    operation cpopw, cpopw a0, a0
    operation max, max a0, a0, a1
    operation maxu, maxu a0, a0, a1
    operation min, min a0, a0, a1
    operation minu, minu a0, a0, a1
    operation sext_b, sext.b a0, a0
    operation sext_h, sext.h a0, a0
    operation zext_h, zext.h a0, a0
    operation rol, rol a0, a0, a1
    operation rolw, rolw a0, a0, a1
    operation ror, ror a0, a0, a1
    operation rorw, rorw a0, a0, a1
    operation rori, rori a0, a0, 41
    operation roriw, roriw a0, a0, 11
    operation orc_b, orc.b a0, a0
    operation rev8, rev8 a0, a0

    # Zbs: single bits.
    operation bclr, bclr a0, a0, a1
    operation bext, bext a0, a0, a1
    operation binv, binv a0, a0, a1
    operation bset, bset a0, a0, a1
    operation bclri, bclri a0, a0, 63
    operation bexti, bexti a0, a0, 32
    operation binvi, binvi a0, a0, 31
    operation bseti, bseti a0, a0, 47
