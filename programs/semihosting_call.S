# word semihosting_call(word operation, word argument): both are in the right registers already, and so is the result.

    .section .text.semihosting_call, "ax", @progbits
    .globl semihosting_call
    .type semihosting_call, @function
    # The three must be uncompressed and in one page, else a debugger may not know them.
    .balign 16
semihosting_call:
    .option push
    .option norvc
    slli zero, zero, 0x1f
    ebreak
    srai zero, zero, 7
    .option pop
    ret
    .size semihosting_call, . - semihosting_call
