# A bare machine: from its first instruction, in machine mode, to main.
#include "registers.h"

    .section .text.start, "ax", @progbits
    .globl _start
    .type _start, @function
_start:
    # One hart is enough: the others sleep.
    csrr t0, mhartid
1:  beqz t0, 2f
    wfi
    j 1b
2:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, main_stack_top

    la t0, bss_start
    la t1, bss_end
3:  bgeu t0, t1, 4f
    STORE zero, 0(t0)
    addi t0, t0, WORD
    j 3b
4:
    # The lower modes may use all of memory. A machine without memory protection has no such registers: then the trap
    # goes to the next line.
    la t0, 5f
    csrw mtvec, t0
    li t0, -1
    csrw pmpaddr0, t0
    li t0, 0x1f             # All addresses; read, write, execute.
    csrw pmpcfg0, t0
    .balign 4
5:
    la t0, machine_trap_entry
    csrw mtvec, t0
    la t0, main_frame
    csrw mscratch, t0
    call main
    call exit
    .size _start, . - _start

    .section .bss.stacks, "aw", @nobits
    .balign 16
    .skip 8192
main_stack_top:
    .skip 4096
    .globl machine_trap_stack_top
machine_trap_stack_top:
    .skip 4096
    .globl supervisor_trap_stack_top
supervisor_trap_stack_top:
main_frame:
    .skip FRAME_WORDS * WORD

# The host interface (htif.c).
    .section .tohost, "aw", @nobits
    .globl tohost
    .type tohost, @object
    .balign 64
tohost:
    .skip 8
    .size tohost, 8
    .globl fromhost
    .type fromhost, @object
    .balign 64
fromhost:
    .skip 8
    .size fromhost, 8
