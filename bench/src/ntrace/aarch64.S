// The runtime of the sample programs (programs/runtime/linux.S) for AArch64: the first instruction, and system calls. Their numbers are
// the same as on RISC-V.

    .section .text.start, "ax", @progbits
    .globl _start
    .type _start, %function
_start:
    // The kernel leaves on the stack: the count, the arguments, 0, the environment, 0.
    ldr x0, [sp]
    add x1, sp, #8
    add x2, x1, x0, lsl #3
    add x2, x2, #8
    bl main
    bl exit
    .size _start, . - _start

    .section .text.system_call, "ax", @progbits
    .globl system_call
    .type system_call, %function
system_call:
    mov x8, x0
    mov x0, x1
    mov x1, x2
    mov x2, x3
    mov x3, x4
    mov x4, x5
    mov x5, x6
    svc #0
    ret
    .size system_call, . - system_call
