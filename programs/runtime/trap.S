# Traps: the scratch register points to the frame of what runs; all of its registers go there, a C function says which
# frame goes on, and that one's registers come back. So a handler can look at, change or switch what it interrupts.
# A trap inside a handler would overwrite the frame: handlers must not trap.
#include "registers.h"

    .macro all_but_sp instruction
    \instruction x1, 1 * WORD(sp)
    .irp n, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    \instruction x\n, \n * WORD(sp)
    .endr
    .endm

    .macro trap_entry name, handler, stack, mode
    .section .text.\name, "ax", @progbits
    .globl \name
    .type \name, @function
    .balign 4
\name:
    csrrw sp, \mode\()scratch, sp
    all_but_sp STORE
    csrr t0, \mode\()scratch
    STORE t0, 2 * WORD(sp)
    csrr t0, \mode\()epc
    STORE t0, 0(sp)
    csrr t0, \mode\()status
    STORE t0, FRAME_STATUS * WORD(sp)
    csrr t0, \mode\()cause
    STORE t0, FRAME_CAUSE * WORD(sp)
    csrr t0, \mode\()tval
    STORE t0, FRAME_VALUE * WORD(sp)
    mv a0, sp
    la sp, \stack
    call \handler
    mv sp, a0
    csrw \mode\()scratch, sp
    LOAD t0, 0(sp)
    csrw \mode\()epc, t0
    LOAD t0, FRAME_STATUS * WORD(sp)
    csrw \mode\()status, t0
    all_but_sp LOAD
    LOAD sp, 2 * WORD(sp)
    \mode\()ret
    .size \name, . - \name
    .endm

    trap_entry machine_trap_entry, machine_trap, machine_trap_stack_top, m
    # Left out by the linker where no program uses it.
    trap_entry supervisor_trap_entry, supervisor_trap, supervisor_trap_stack_top, s
