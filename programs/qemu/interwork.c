// Dense switches, conditional instructions and, on 32-bit Arm, T32 (with IT blocks) and A32 calling each other.
#include <stdint.h>
#include <stdio.h>

#if defined(__arm__)
#define ARM __attribute__((target("arm"), noinline))
#define THUMB __attribute__((target("thumb"), noinline))
#else
#define ARM __attribute__((noinline))
#define THUMB __attribute__((noinline))
#endif

// A table of branches (TBB, TBH in T32).
THUMB static unsigned pick(unsigned which, unsigned value) {
    switch (which) {
    case 0: return value + 1;
    case 1: return value * 3;
    case 2: return value ^ 0x55;
    case 3: return value >> 1;
    case 4: return value - 7;
    case 5: return value << 2;
    case 6: return ~value;
    case 7: return value | 9;
    case 8: return value & 0xff;
    default: return value;
    }
}

// The same in A32 (loads the program counter, or adds to it).
ARM static unsigned pick_arm(unsigned which, unsigned value) {
    switch (which) {
    case 0: return pick(3, value);
    case 1: return value * 5;
    case 2: return pick(4, value) + 1;
    case 3: return value >> 2;
    case 4: return value - 9;
    case 5: return pick(8, value) << 3;
    default: return value + which;
    }
}

// Conditional instructions instead of branches.
THUMB static int clamp(int value, int low, int high) {
#if defined(__arm__) && defined(__thumb__)
    __asm__("cmp %0, %1\n\tit lt\n\tmovlt %0, %1\n\tcmp %0, %2\n\tite gt\n\tmovgt %0, %2\n\taddle %0, %0, #1"
            : "+r"(value)
            : "r"(low), "r"(high)
            : "cc");
    return value;
#else
    if (value < low) value = low;
    return value > high ? high : value + 1;
#endif
}

#if defined(__arm__)
// An IT block that ends in a branch, and returns by a conditional pop of the program counter.
__attribute__((target("thumb"), naked, noinline)) static int find(const int *list, int wanted) {
    (void)list, (void)wanted;
    __asm__("push {r4, lr}\n\t"
            "mov r2, #0\n"
            "1:\tldr r3, [r0, r2, lsl #2]\n\t"
            "cmp r3, r1\n\t"
            "itt eq\n\t"
            "moveq r0, r2\n\t"
            "popeq {r4, pc}\n\t"
            "add r2, r2, #1\n\t"
            "cmp r2, #16\n\t"
            "it lt\n\t"
            "blt.n 1b\n\t"
            "mvn r0, #0\n\t"
            "pop {r4, pc}");
}
#else
__attribute__((noinline)) static int find(const int *list, int wanted) {
    for (int i = 0; i < 16; i++)
        if (list[i] == wanted) return i;
    return -1;
}
#endif

#if defined(__arm__)
// T32 instructions around the ends of pages, alone in what an emulator translates at once: 2 bytes before 4 that cross the end,
// the same after 4 bytes, 4 bytes before 4 that cross, and 2 bytes that end with the page.
__asm__(".pushsection .text.edges, \"ax\", %progbits\n\t"
        ".syntax unified\n\t.thumb\n\t.balign 4096\n\t.space 4088\n"
        "\t.thumb_func\nedge_1:\tb.n 1f\n\tnop\n"
        "1:\tadds r0, r0, #1\n\tadd.w r0, r0, #256\n\tbx lr\n\t"
        ".balign 4096\n\t.space 4086\n"
        "\t.thumb_func\nedge_2:\tb.n 1f\n"
        "1:\tadd.w r0, r0, #512\n\tpush {r0, lr}\n\tadd.w r0, r0, #256\n\tpop {r1, pc}\n\t"
        ".balign 4096\n\t.space 4086\n"
        "\t.thumb_func\nedge_3:\tb.n 1f\n\tnop\n"
        "1:\tadd.w r0, r0, #768\n\tadd.w r0, r0, #256\n\tbx lr\n\t"
        ".balign 4096\n\t.space 4088\n"
        "\t.thumb_func\nedge_4:\tb.n 1f\n\tnop\n"
        "1:\tadds r0, r0, #3\n\tadds r0, r0, #4\n\tbx lr\n\t"
        ".popsection");
unsigned edge_1(unsigned), edge_2(unsigned), edge_3(unsigned), edge_4(unsigned);
#else
static unsigned edge_1(unsigned value) { return value + 257; }
static unsigned edge_2(unsigned value) { return value + 768; }
static unsigned edge_3(unsigned value) { return value + 1024; }
static unsigned edge_4(unsigned value) { return value + 7; }
#endif

ARM static unsigned call(unsigned (*function)(unsigned, unsigned), unsigned which, unsigned value) {
    return function(which, value);
}

int main(void) {
    uint32_t sum = 1;
    int list[16];
    for (int i = 0; i < 16; i++) list[i] = i * i;
    for (unsigned i = 0; i < 500; i++) {
        sum = sum * 31 + pick(i % 11, i);
        sum = sum * 31 + pick_arm(i % 8, i);
        sum = sum * 31 + (uint32_t)clamp((int)(i % 40) - 20, -5, 9);
        sum = sum * 31 + call(i % 2 ? pick : pick_arm, i % 9, i);
        sum = sum * 31 + (edge_1(i) ^ edge_2(i) ^ edge_3(i) ^ edge_4(i));
        sum = sum * 31 + (uint32_t)find(list, (int)(i % 250));
    }
    printf("interwork: %08x\n", (unsigned)sum);
    return 0;
}
