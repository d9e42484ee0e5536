# A short program that makes an encoder send everything it can: the program of `tracewright conform`.
#
# A bare machine, RV64 or RV32 with compressed instructions. It needs no runtime. It ends through the host interface with 0.
#include "runtime/registers.h"

#if __riscv_xlen == 64
#define ASID_SHIFT 44
#else
#define ASID_SHIFT 22
#endif

    .section .text.start, "ax", @progbits
    .globl _start
    .type _start, @function
_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, stack_top
    la t0, trap
    csrw mtvec, t0
    li t0, -1
    csrw pmpaddr0, t0
    li t0, 0x1f             # All addresses; read, write, execute.
    csrw pmpcfg0, t0
    call loops
    call untaken
    call untaken31
    call untaken31
    call untaken31
    call pattern
    call table
    call pairs
    call swaps
    call recurse
    call elsewhere
    call straight
    call accesses
    call faults
    call interrupts
    call contexts
    call modes
    call loops
    call pattern
    call table
    .globl finish
    .type finish, @function
finish:
    li t0, 1
    la t1, tohost
    STORE t0, 0(t1)
    j 1f
1:  j 1b                    # Not executed.
    .size finish, . - finish
    .size _start, . - _start

    .text
# Branches that a predictor foretells, and histories that repeat: long, short and nested loops.
    .globl loops
    .type loops, @function
loops:
    li t0, 150
1:  addi t0, t0, -1
    bnez t0, 1b
    li t1, 6
2:  li t0, 5
3:  addi t0, t0, -1
    bnez t0, 3b
    addi t1, t1, -1
    bnez t1, 2b
    ret
    .size loops, . - loops

# Branches that are all foretold, up to a return.
    .globl untaken
    .type untaken, @function
untaken:
    .rept 40
    bnez zero, untaken
    .endr
    ret
    .size untaken, . - untaken

# As many as a branch map holds.
    .globl untaken31
    .type untaken31, @function
untaken31:
    .rept 31
    bnez zero, untaken31
    .endr
    ret
    .size untaken31, . - untaken31

# Branches that nobody foretells: 90 of them, by the bits of a shift register.
    .globl pattern
    .type pattern, @function
pattern:
    li t0, 90
    li t1, 0x5ac3
1:  andi t2, t1, 1
    srli t1, t1, 1
    beqz t2, 2f
    li t3, 0xb400
    xor t1, t1, t3
2:  addi t0, t0, -1
    bnez t0, 1b
    ret
    .size pattern, . - pattern

# Jumps by a table: the same targets again and again, with branches between some.
    .globl table
    .type table, @function
table:
    li t0, 20
1:  andi t1, t0, 3
    slli t1, t1, 3
    la t2, targets
    add t2, t2, t1
    LOAD t2, 0(t2)
    jr t2
first:
    nop
    j 9f
second:
    andi t3, t0, 8
    beqz t3, 9f
    nop
    j 9f
third:
    nop
    nop
9:  addi t0, t0, -1
    bnez t0, 1b
    ret
    .size table, . - table

# Jumps whose target the instruction before gives.
    .globl pairs
    .type pairs, @function
pairs:
    mv s0, ra
    li s1, 3
    .option push
    .option norelax
1:  call leaf
    la t0, 2f
    nop
    jr t0
2:  addi s1, s1, -1
    bnez s1, 1b
    mv ra, s0
    tail leaf
    .option pop
    .size pairs, . - pairs

    .globl leaf
    .type leaf, @function
leaf:
    nop
    ret
    .size leaf, . - leaf

# Co-routines that swap: each jumps to where the other one left.
    .globl swaps
    .type swaps, @function
swaps:
    mv s0, ra
    la t0, 5f
    jalr ra, t0
    jalr ra, t0
    jalr ra, t0
    mv ra, s0
    ret
5:  nop
    jalr t0, ra
    nop
    jalr t0, ra
    nop
    jalr t0, ra
    .size swaps, . - swaps

# Calls within calls, more than any encoder's stack of calls holds.
    .globl recurse
    .type recurse, @function
recurse:
    li a0, 40
descend:
    addi sp, sp, -16
    STORE ra, 0(sp)
    addi a0, a0, -1
    beqz a0, 1f
    jal descend
1:  LOAD ra, 0(sp)
    addi sp, sp, 16
    ret
    .size recurse, . - recurse

# Returns that do not go to their calls.
    .globl elsewhere
    .type elsewhere, @function
elsewhere:
    mv s0, ra
    li s1, 3
1:  jal skip
    nop                     # Not executed.
    nop
    addi s1, s1, -1
    bnez s1, 1b
    jal leaf
    mv ra, s0
    ret
skip:
    addi ra, ra, 2          # Over a compressed nop.
    ret
    .size elsewhere, . - elsewhere

# Instructions without any branch.
    .globl straight
    .type straight, @function
straight:
    .rept 60
    addi t0, t0, 1
    .endr
    .option push
    .option norvc
    .rept 20
    addi t0, t0, 1
    .endr
    .option pop
    ret
    .size straight, . - straight

# Accesses to memory and to control registers.
    .globl accesses
    .type accesses, @function
accesses:
    la t0, words
    li t1, 0x1234
    sb t1, 0(t0)
    sh t1, 2(t0)
    sw t1, 4(t0)
    STORE t1, 8(t0)
    lb t2, 0(t0)
    lhu t2, 2(t0)
    lw t2, 4(t0)
    LOAD t2, 8(t0)
    STORE t2, 16(t0)
    STORE t0, 24(t0)
    li t3, 5
    addi t0, t0, 8
    amoadd.w t2, t3, (t0)
    amoswap.w t2, t3, (t0)
    amoand.w t2, t1, (t0)
    amoor.w t2, t1, (t0)
    amoxor.w t2, t3, (t0)
    amomax.w t2, t3, (t0)
    amomin.w t2, t3, (t0)
    lr.w t2, (t0)
    sc.w t2, t3, (t0)
    sc.w t2, t3, (t0)
    csrw mscratch, t0
    csrr t2, mscratch
    csrs mscratch, t3
    csrc mscratch, t3
    ret
    .size accesses, . - accesses

# Exceptions: on its own, as the first instruction after a jump, and twice in a row.
    .globl faults
    .type faults, @function
faults:
    mv s0, ra
    .option push
    .option norvc
    ecall
    nop
    .insn 4, 0x0000000b     # Illegal.
    la t0, 1f
    nop
    jr t0
1:  ecall
    ecall
    beqz zero, 2f
    nop
2:  .insn 4, 0x0000000b
    .option pop
    mv ra, s0
    ret
    .size faults, . - faults

# Interrupts: by software, in a loop, and by the timer.
    .globl interrupts
    .type interrupts, @function
interrupts:
    li t0, 0x88             # Software and timer.
    csrw mie, t0
    csrsi mstatus, 8
    li t1, 0x2000000
    li t2, 1
    sw t2, 0(t1)
    nop
    nop
    li t0, 3
1:  sw t2, 0(t1)
    addi t0, t0, -1
    bnez t0, 1b
    li t1, 0x2004000
    sw zero, 0(t1)
    sw zero, 4(t1)
    wfi
    nop
    csrci mstatus, 8
    ret
    .size interrupts, . - interrupts

# Other contexts (the address space in satp), with and without branches between.
    .globl contexts
    .type contexts, @function
contexts:
    li t0, 5
1:  slli t1, t0, ASID_SHIFT
    csrw satp, t1
    nop
    addi t0, t0, -1
    bnez t0, 1b
    csrw satp, zero
    ret
    .size contexts, . - contexts

# Supervisor and user mode.
    .globl modes
    .type modes, @function
modes:
    mv s0, ra
    la s1, 1f
    la t0, lower
    csrw mepc, t0
    li t0, 0x1800
    csrc mstatus, t0
    mret                    # To user mode.
1:  la s1, 2f
    la t0, lower
    csrw mepc, t0
    li t0, 0x1800
    csrc mstatus, t0
    li t0, 0x800
    csrs mstatus, t0
    mret                    # To supervisor mode.
2:  mv ra, s0
    ret
lower:
    li t0, 4
1:  addi t0, t0, -1
    bnez t0, 1b
    jal leaf
    .option push
    .option norvc
    .insn 4, 0x0000000b     # Back in the same mode.
    ecall                   # Back to s1 in machine mode.
    .option pop
    .size modes, . - modes

# All traps. An environment call from a lower mode goes to s1 in machine mode, others go on after the instruction.
    .balign 4
    .globl trap
    .type trap, @function
trap:
    mv t5, t0
    mv t6, t1
    csrr t0, mcause
    bltz t0, 3f
    csrr t1, mepc
    addi t1, t1, 4
    li t4, 8
    beq t0, t4, 1f
    li t4, 9
    bne t0, t4, 2f
1:  mv t1, s1
    li t0, 0x1800
    csrs mstatus, t0
2:  csrw mepc, t1
    j 9f
3:  andi t0, t0, 0xf
    li t1, 3
    beq t0, t1, 4f
    li t1, 0x2004000        # The timer: never again.
    li t0, -1
    sw t0, 4(t1)
    j 9f
4:  li t1, 0x2000000        # Software: done.
    sw zero, 0(t1)
9:  mv t0, t5
    mv t1, t6
    mret
    .size trap, . - trap

    .section .rodata
    .balign 8
targets:
#if __riscv_xlen == 64
    .dword first, second, third, second
#else
    .word first, 0, second, 0, third, 0, second, 0
#endif

    .section .bss
    .balign 16
words:
    .skip 64
    .skip 2048
stack_top:

# The host interface.
    .section .tohost, "aw", @nobits
    .globl tohost
    .balign 64
tohost:
    .skip 8
    .globl fromhost
    .balign 64
fromhost:
    .skip 8
