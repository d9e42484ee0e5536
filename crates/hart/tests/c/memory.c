/* Memory from the kernel, in all ways. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (1ul << 20)

static void check(const char *what, int holds) {
    printf("%s: %s\n", what, holds ? "yes" : "no");
}

int main(void) {
    size_t len = 64 * MIB;
    unsigned char *big = malloc(len);
    for (size_t i = 0; i < len; i += 4096) big[i] = (unsigned char)(i >> 12);
    unsigned long sum = 0;
    for (size_t i = 0; i < len; i += 4096) sum += big[i];
    printf("%lu\n", sum);
    big = realloc(big, 200 * MIB);
    unsigned long again = 0;
    for (size_t i = 0; i < len; i += 4096) again += big[i];
    check("realloc keeps", sum == again && big[199 * MIB] == 0);
    free(big);

    void *parts[1000];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 1000; i++) {
            size_t size = (size_t)(i * 37 + round * 101) % 5000 + 1;
            parts[i] = malloc(size);
            memset(parts[i], i, size);
        }
        for (int i = 999; i >= 0; i -= 1) free(parts[(i * 7) % 1000]);
    }
    char *start = sbrk(0);
    char *heap = sbrk(3 * 4096);
    check("sbrk", heap == start && (char *)sbrk(0) == start + 3 * 4096);
    heap[3 * 4096 - 1] = 1;
    sbrk(-3 * 4096);
    heap = sbrk(3 * 4096);
    check("sbrk gives zeros", heap[3 * 4096 - 1] == 0);

    char *map = mmap(NULL, 10 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check("zeros", map[0] == 0 && map[10 * 4096 - 1] == 0);
    memset(map, 1, 10 * 4096);
    char *fixed = mmap(map + 4096, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    check("fixed", fixed == map + 4096 && fixed[0] == 0 && map[0] == 1 && map[8192] == 1);
    check("unmap a part", munmap(map + 8192, 4096) == 0 && map[3 * 4096] == 1);
    check("protect a hole", mprotect(map, 10 * 4096, PROT_READ) != 0 && errno == ENOMEM);
    check("protect", mprotect(map, 4096, PROT_READ) == 0 && map[0] == 1);
    check("dontneed", madvise(map + 3 * 4096, 4096, MADV_DONTNEED) == 0 && map[3 * 4096] == 0 && map[4 * 4096] == 1);
    check("unmap odd", munmap(map + 1, 4096) != 0 && errno == EINVAL);
    check("map nothing", mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    munmap(map, 10 * 4096);

    uint32_t *grow = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint32_t i = 0; i < MIB / 4; i++) grow[i] = i * i;
    grow = mremap(grow, MIB, 16 * MIB, MREMAP_MAYMOVE);
    int same = 1;
    for (uint32_t i = 0; i < MIB / 4; i++) same &= grow[i] == i * i;
    check("mremap", same && grow[4 * MIB - 1] == 0);
    grow = mremap(grow, 16 * MIB, 4096, 0);
    check("shrink", grow != MAP_FAILED && grow[1000] == 1000000);
    void *target = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t *moved = mremap(grow, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    check("move", (void *)moved == target && moved[1000] == 1000000);

    /* A reserve of addresses takes no memory. */
    char *reserve = mmap(NULL, 8ul << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check("reserve", reserve != MAP_FAILED && mprotect(reserve + (1ul << 30), 4096, PROT_READ | PROT_WRITE) == 0);
    reserve[1ul << 30] = 5;

    /* Code made now: li a0, 42; ret */
    uint32_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    code[0] = 0x02a00513;
    code[1] = 0x00008067;
    __builtin___clear_cache((char *)code, (char *)(code + 2));
    printf("%d\n", ((int (*)(void))code)());
    code[0] = 0x02b00513;
    __builtin___clear_cache((char *)code, (char *)(code + 2));
    printf("%d\n", ((int (*)(void))code)());
    mprotect(code, 4096, PROT_READ | PROT_WRITE);
    code[0] = 0x02c00513;
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
    __builtin___clear_cache((char *)code, (char *)(code + 2));
    printf("%d\n", ((int (*)(void))code)());

    char odd[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    uint64_t word;
    volatile uint64_t *at = (uint64_t *)(odd + 1);
    word = *at;
    *at = word + 1;
    printf("%lx %d\n", (unsigned long)word, odd[1]);
    return 0;
}
