// How programs die: `crash null` at a null pointer deep in calls, `crash abort`, `crash illegal`, `crash trap`;
// `crash forever` only computes until it is killed.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int *nowhere;
static volatile unsigned sink;

__attribute__((noinline)) static int deep(int depth) {
    if (depth == 0) return *nowhere;
    int result = deep(depth - 1);
    // So that it is no loop.
    __asm__ volatile("" ::: "memory");
    return result + depth;
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "null";
    write(1, "crash: on the way\n", 18);
    if (!strcmp(how, "null")) return deep(100);
    if (!strcmp(how, "abort")) abort();
#if defined(__aarch64__)
    if (!strcmp(how, "illegal")) __asm__ volatile("udf #0");
    if (!strcmp(how, "trap")) __asm__ volatile("brk #0");
#elif defined(__arm__)
    if (!strcmp(how, "illegal")) __asm__ volatile("udf #0");
    if (!strcmp(how, "trap")) __asm__ volatile("bkpt #0");
#elif defined(__riscv)
    if (!strcmp(how, "illegal")) __asm__ volatile(".half 0");
    if (!strcmp(how, "trap")) __asm__ volatile("ebreak");
#endif
    for (unsigned i = 0;; i++) sink = sink * 33 + (i % 3 ? i : sink);
}
