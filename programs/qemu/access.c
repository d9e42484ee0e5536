// What programs do to memory: `access [changed] [shared]`. For riscv64, where data trace tells of it; elsewhere it does nothing.
#include <stdio.h>

#ifdef __riscv
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t place[16];

// All that accesses memory, or a control register, with operands that the code says, and others.
#define ATOMIC(name, width, operand)                                                                  \
    __asm__ volatile("amo" name "." width " %0, %2, (%1)" : "=&r"(old) : "r"(at), "r"(operand) : "memory"); \
    sum += old

// `asked`: a branch asks whether it stored.
#define RESERVED(width, first, then, asked)                                                           \
    __asm__ volatile("lr." width " %0, (%1)\n" first "sc." width " %0, %3, (%2)\n" asked               \
                     : "=&r"(old)                                                                      \
                     : "r"(at), "r"(then), "r"(one)                                                    \
                     : "memory");                                                                     \
    sum += old

__attribute__((noinline, section("accesses"))) static uint64_t work(uint64_t one, int is_changed) {
    volatile uint64_t *at = place;
    uint64_t sum = 0, old, large = one * 0x8123456789abcdef;
    for (uint64_t round = 0; round < 4; round++) {
        at[0] += large + round;
        ((volatile uint32_t *)at)[3] += (uint32_t)large;
        ((volatile uint16_t *)at)[9] = (uint16_t)sum;
        sum += ((volatile uint8_t *)at)[7];
        ((volatile double *)at)[8] += 1.5;
        ((volatile float *)at)[20] = (float)((volatile double *)at)[8];
        // Not aligned.
        __asm__ volatile("ld %0, 3(%1)\n\tsw %0, 61(%1)" : "=&r"(old) : "r"(at) : "memory");
        sum += old;
        ATOMIC("swap", "w", large);
        ATOMIC("swap", "d", large);
        ATOMIC("add", "w", round);
        ATOMIC("add", "d", large);
        ATOMIC("xor", "d", round);
        ATOMIC("or", "w", one);
        ATOMIC("and", "d", large);
        ATOMIC("max", "w", round);
        ATOMIC("maxu", "d", large);
        ATOMIC("min", "d", large);
        ATOMIC("minu", "w", one);
        __asm__ volatile("amoadd.d %0, zero, (%1)" : "=&r"(old) : "r"(at) : "memory");
        __asm__ volatile("li %0, -5\n\tamoadd.w %0, %0, (%1)" : "=&r"(old) : "r"(at) : "memory");
        __asm__ volatile("li %0, 12\n\tamoxor.d %0, %0, (%1)" : "=&r"(old) : "r"(at) : "memory");
        // Stores; a branch asks, and none does.
        RESERVED("w", "", at, "bnez %0, 1f\n1:\n\t");
        RESERVED("d", "", at, "beqz %0, 1f\n\tnop\n1:\n\t");
        RESERVED("w", "", at, "addi %0, %0, 1\n\t");
        if (is_changed) {
            // Memory is not as it was, by this very thread: harts may differ on that.
            RESERVED("d", "sd %3, 0(%1)\n\t", at, "bnez %0, 1f\n1:\n\t");
        }
        // Reserved is another place.
        RESERVED("d", "", at + 1, "bnez %0, 1f\n1:\n\t");
        __asm__ volatile("frcsr %0\n\tcsrrwi zero, frm, 1\n\tfscsr %0" : "=&r"(old));
        sum += old;
    }
    return sum;
}

extern const char __start_accesses[], __stop_accesses[];

int main(int count, char **arguments) {
    int is_changed = 0;
    for (int i = 1; i < count; i++) {
        is_changed |= !strcmp(arguments[i], "changed");
        // QEMU does atomics in another way once memory is shared.
        if (!strcmp(arguments[i], "shared")) {
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        }
    }
    volatile uint64_t one = 1;
    uint64_t sum = work(one, is_changed);
    // Whoever compares two runs wants to know where this is.
    printf("access: %p %p\n", (const void *)__start_accesses, (const void *)__stop_accesses);
    return sum == 1;
}
#else
int main(void) {
    puts("access: nothing");
    return 0;
}
#endif
