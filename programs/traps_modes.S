# Supervisor mode to user mode and back, by sret.
#include "runtime/registers.h"

    .macro kept instruction
    \instruction ra, 0(sp)
    .set at, WORD
    .irp r, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
    \instruction \r, at(sp)
    .set at, at + WORD
    .endr
    .endm

# void enter_user(void (*function)(void), u8 *stack_top)
    .section .text.enter_user, "ax", @progbits
    .globl enter_user
    .type enter_user, @function
enter_user:
    addi sp, sp, -16 * WORD
    kept STORE
    la t0, supervisor_sp
    STORE sp, 0(t0)
    csrw sepc, a0
    li t0, 0x100            # SPP: where sret goes. Zero is user mode.
    csrc sstatus, t0
    mv sp, a1
    sret
    .size enter_user, . - enter_user

# The handler returns here, to supervisor mode: as if enter_user returned.
    .globl leave_user
    .type leave_user, @function
leave_user:
    la t0, supervisor_sp
    LOAD sp, 0(t0)
    kept LOAD
    addi sp, sp, 16 * WORD
    ret
    .size leave_user, . - leave_user

    .section .bss.supervisor_sp, "aw", @nobits
    .balign WORD
supervisor_sp:
    .skip WORD
