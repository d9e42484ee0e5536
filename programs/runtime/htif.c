// Output and the end of a bare program, by the host interface of the RISC-V simulators: the host finds the symbols tohost and
// fromhost in the file and watches them.
#include "bare.h"

// Halves, for both widths of register: the lower half is a whole command where the upper one is zero, and it goes first.
typedef union {
    volatile u64 whole;
    volatile u32 half[2];
} mailbox;
extern mailbox tohost, fromhost; // bare.S

static void send(u64 command)
{
#if __riscv_xlen == 64
    tohost.whole = command;
#else
    tohost.half[0] = (u32)command;
    tohost.half[1] = (u32)(command >> 32);
#endif
}

#ifdef CONSOLE_BY_LETTERS
// Only for a try under QEMU 7.2, which has the console but not the system calls.
void output(const char *text, size length)
{
    for (size i = 0; i < length; i++) {
        send(1ull << 56 | 1ull << 48 | (u8)text[i]);
        while (fromhost.half[1] == 0 && fromhost.half[0] == 0)
            ;
        fromhost.half[0] = fromhost.half[1] = 0;
        send(0);
    }
}
#else
// A system call: the address of its number and arguments; the result comes back in the same place.
void output(const char *text, size length)
{
    static volatile u64 call[8] __attribute__((aligned(64)));
    if (length == 0)
        return;
    call[0] = 64; // write
    call[1] = 1;
    call[2] = (word)text;
    call[3] = length;
    __asm__ volatile("fence" ::: "memory");
    send((word)call);
    while (fromhost.half[0] == 0)
        ;
    fromhost.half[0] = 0;
    fromhost.half[1] = 0;
    __asm__ volatile("fence" ::: "memory");
}
#endif

void exit(int status)
{
    print_flush();
    for (;;)
        send((u64)(u32)status << 1 | 1);
}
