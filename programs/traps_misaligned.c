// Loads and stores across a boundary: a machine does them, or traps and has a handler do them.
#include "traps_misaligned.h"

static word get_bytes(const u8 *from, int count)
{
    word value = 0;
    for (int i = 0; i < count; i++)
        value |= (word)from[i] << 8 * i;
    return value;
}

int do_misaligned(frame *f)
{
    u32 instruction = (u32)get_bytes((const u8 *)f->x[PC], 4);
    int width = 1 << (instruction >> 12 & 3), is_unsigned = instruction >> 14 & 1;
    word base = instruction >> 15 & 31;
    // x[0] is the program counter's place: register 0 is always zero.
    base = base ? f->x[base] : 0;
    if ((instruction & 0x7f) == 0x03) {
        u32 to = instruction >> 7 & 31;
        word value = get_bytes((const u8 *)(base + (word)((i32)instruction >> 20)), width);
        int unused = (int)sizeof(word) * 8 - 8 * width;
        if (!is_unsigned)
            value = (word)((long)(value << unused) >> unused);
        if (to)
            f->x[to] = value;
        return 1;
    }
    if ((instruction & 0x7f) == 0x23) {
        u32 from = instruction >> 20 & 31;
        i32 offset = ((i32)instruction >> 25) * 32 + (i32)(instruction >> 7 & 31);
        word value = from ? f->x[from] : 0;
        for (int i = 0; i < width; i++)
            ((u8 *)(base + (word)offset))[i] = (u8)(value >> 8 * i);
        return 1;
    }
    return 0;
}

// A function of one instruction, uncompressed: it runs, and do_misaligned reads it. Address in a1, value in a0.
#define ONE(instruction)                                                                                                    \
    __asm__(".section .text.one, \"ax\", @progbits\n.option push\n.option norvc\n.globl one_" #instruction "\n"            \
            "one_" #instruction ":\n" #instruction " a0, -3(a1)\nret\n.option pop\n.previous");                            \
    word one_##instruction(word value, u8 *address);
ONE(lh)
ONE(lhu)
ONE(lw)
ONE(sh)
ONE(sw)
#if __riscv_xlen == 64
ONE(lwu)
ONE(ld)
ONE(sd)
#endif

u32 try_misaligned(u32 checksum)
{
    static word (*const all[])(word, u8 *) = {
        one_lh, one_lhu, one_lw, one_sh, one_sw,
#if __riscv_xlen == 64
        one_lwu, one_ld, one_sd,
#endif
    };
    static u8 ours[24] __attribute__((aligned(16))), theirs[24] __attribute__((aligned(16)));
    for (size i = 0; i < COUNT(all); i++)
        for (int offset = 0; offset < 8; offset++) {
            for (int j = 0; j < 24; j++)
                ours[j] = theirs[j] = (u8)(j * 37 + 0x75);
            word value = 0x89abcdef;
            frame f;
            f.x[PC] = (word)all[i];
            f.x[A0] = value;
            f.x[A1] = (word)(ours + offset + 3);
            if (!do_misaligned(&f))
                exit(1);
            value = all[i](value, theirs + offset + 3);
            if (value != f.x[A0] || memcmp(ours, theirs, sizeof ours)) {
                print_string("wrong: a misaligned load or store\n");
                exit(1);
            }
            for (int j = 0; j < 24; j++)
                checksum = mix(checksum, theirs[j]);
            checksum = mix(checksum, value);
        }
    print_string("  misaligned loads and stores: ok\n");
    return checksum;
}
