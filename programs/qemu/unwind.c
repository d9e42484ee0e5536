// Ways out of calls: long jumps over many frames, deep recursion, calls by pointers, tail calls, functions with many
// returns.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf back;

__attribute__((noinline)) static int dive(int depth, int bottom) {
    if (depth > 1000) return 0;
    if (depth == bottom) longjmp(back, depth);
    int result = dive(depth + 1, bottom);
    return result + 1;
}

__attribute__((noinline)) static int deep(int depth) {
    if (depth == 0) return 1;
    return deep(depth - 1) % 1009 + depth;
}

static int is_odd(unsigned number);
__attribute__((noinline)) static int is_even(unsigned number) { return number ? is_odd(number - 1) : 1; }
__attribute__((noinline)) static int is_odd(unsigned number) { return number ? is_even(number - 1) : 0; }

static int compare(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

int main(void) {
    volatile int sum = 0;
    for (int i = 1; i < 60; i++) {
        int depth = setjmp(back);
        if (depth) sum += depth;
        else dive(0, i);
    }
    sum += deep(5000);
    sum += is_even(1001) * 2 + is_odd(777);
    const char *words[] = {"trace", "of", "every", "instruction", "that", "a", "program", "runs"};
    qsort(words, 8, sizeof *words, compare);
    printf("unwind: %d %s %s\n", sum, words[0], words[7]);
    return 0;
}
