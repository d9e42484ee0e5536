# Linux: the first instruction of a program, and system calls.

    .section .text.start, "ax", @progbits
    .globl _start
    .type _start, @function
_start:
    # gp itself must not be found by way of gp.
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    # The kernel leaves on the stack: the count, the arguments, 0, the environment, 0.
    ld a0, 0(sp)
    addi a1, sp, 8
    slli a2, a0, 3
    add a2, a2, a1
    addi a2, a2, 8
    andi sp, sp, -16
    call main
    call exit
    .size _start, . - _start

# long system_call(long number, long a, long b, long c, long d, long e, long f)
    .section .text.system_call, "ax", @progbits
    .globl system_call
    .type system_call, @function
system_call:
    mv a7, a0
    mv a0, a1
    mv a1, a2
    mv a2, a3
    mv a3, a4
    mv a4, a5
    mv a5, a6
    ecall
    ret
    .size system_call, . - system_call
