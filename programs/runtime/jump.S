# set_jump and long_jump: what a called function must keep goes into the buffer, and comes back from it.

    .macro all_registers integer, float
    \integer ra, 0(a0)
    \integer sp, 8(a0)
    .set at, 16
    .irp r, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
    \integer \r, at(a0)
    .set at, at + 8
    .endr
    .irp r, fs0, fs1, fs2, fs3, fs4, fs5, fs6, fs7, fs8, fs9, fs10, fs11
    \float \r, at(a0)
    .set at, at + 8
    .endr
    .endm

    .section .text.jump, "ax", @progbits
    .globl set_jump
    .type set_jump, @function
set_jump:
    all_registers sd, fsd
    li a0, 0
    ret
    .size set_jump, . - set_jump

    .globl long_jump
    .type long_jump, @function
long_jump:
    all_registers ld, fld
    # set_jump must not seem to return 0 a second time.
    seqz a0, a1
    add a0, a0, a1
    ret
    .size long_jump, . - long_jump
