// Code that a program writes: executed, changed, executed again; and code that changes itself while it runs.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

typedef int (*function)(int);

#if defined(__aarch64__)
static uint32_t give(unsigned value) { return 0x52800000 | value << 5; }          // mov w0, #value
static uint32_t add(unsigned value) { return 0x11000000 | value << 10; }          // add w0, w0, #value
static const uint32_t back = 0xd65f03c0;                                          // ret
#elif defined(__arm__)
static uint32_t give(unsigned value) { return 0xe3a00000 | value; }               // mov r0, #value
static uint32_t add(unsigned value) { return 0xe2800000 | value; }                // add r0, r0, #value
static const uint32_t back = 0xe12fff1e;                                          // bx lr
#elif defined(__riscv)
static uint32_t give(unsigned value) { return 0x00000513 | value << 20; }         // li a0, value
static uint32_t add(unsigned value) { return 0x00050513 | value << 20; }          // addi a0, a0, value
static const uint32_t back = 0x00008067;                                          // ret
#endif

static uint32_t *code;

static void write_code(unsigned at, uint32_t instruction) {
    code[at] = instruction;
    __builtin___clear_cache((char *)(code + at), (char *)(code + at + 1));
}

__attribute__((noinline)) static int run(unsigned at, int argument) {
    return ((function)(uintptr_t)(code + at))(argument);
}

int main(void) {
    code = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) return 2;
    unsigned sum = 0;
    // The same place, ever other code.
    for (unsigned i = 0; i < 40; i++) {
        write_code(0, give(i));
        write_code(1, back);
        sum += run(0, 0);
    }
    // More and more code behind code that has run.
    for (unsigned i = 0; i < 200; i++) {
        write_code(16 + i, add(i % 7 + 1));
        write_code(17 + i, back);
        sum = sum * 3 + run(16, (int)i);
    }
    // Changed often between runs: one instruction of a function in the middle of others that stay.
    for (unsigned i = 0; i < 100; i++) {
        write_code(16 + 50, i % 2 ? add(9) : give(3));
        for (int j = 0; j < 5; j++) sum = sum * 5 + run(16, j);
    }
    // The same code at another address, and another in its place.
    uint32_t *copy = code + 2048;
    memcpy(copy, code + 16, 201 * 4);
    __builtin___clear_cache((char *)copy, (char *)(copy + 201));
    sum += run(2048, 1);
    munmap(code, 4 * 4096);
    uint32_t *second = mmap(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (second != code) return 2;
    write_code(0, add(100));
    write_code(1, back);
    sum += run(0, 11);
    printf("jit: %08x\n", sum);
    return 0;
}
