// What computes: `cpu sort|sieve|text|matrix|calls|all AMOUNT`.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t seed = 1;
static uint32_t next(void) {
    seed = seed * 1103515245 + 12345;
    return seed >> 8;
}

static int compare(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static uint32_t sort(unsigned amount) {
    enum { COUNT = 20000 };
    static uint32_t list[COUNT];
    uint32_t sum = 0;
    while (amount--) {
        for (unsigned i = 0; i < COUNT; i++) list[i] = next();
        qsort(list, COUNT, sizeof *list, compare);
        for (unsigned i = 0; i < COUNT; i++) sum = sum * 31 + list[i];
    }
    return sum;
}

static uint32_t sieve(unsigned amount) {
    enum { COUNT = 200000 };
    static unsigned char composite[COUNT];
    uint32_t sum = 0;
    while (amount--) {
        memset(composite, 0, COUNT);
        for (unsigned i = 2; i < COUNT; i++) {
            if (composite[i]) continue;
            sum += i;
            for (unsigned j = 2 * i; j < COUNT; j += i) composite[j] = 1;
        }
    }
    return sum;
}

// Words of a text into a hash table, by their characters.
static uint32_t text(unsigned amount) {
    enum { LENGTH = 30000, SLOTS = 1024 };
    static char letters[LENGTH + 1];
    static unsigned counts[SLOTS];
    uint32_t sum = 0;
    while (amount--) {
        for (unsigned i = 0; i < LENGTH; i++) letters[i] = next() % 6 ? (char)('a' + next() % 4) : ' ';
        char *rest = letters;
        for (char *word; (word = strtok_r(rest, " ", &rest));) {
            uint32_t hash = 5381;
            for (; *word; word++) hash = hash * 33 ^ (unsigned char)*word;
            counts[hash % SLOTS]++;
        }
        for (unsigned i = 0; i < SLOTS; i++) sum = sum * 7 + counts[i];
        char number[32];
        snprintf(number, sizeof number, "%u", (unsigned)sum);
        sum += (uint32_t)strlen(number);
    }
    return sum;
}

static uint32_t matrix(unsigned amount) {
    enum { N = 64 };
    static double a[N][N], b[N][N];
    uint32_t sum = 0;
    while (amount--) {
        for (unsigned i = 0; i < N; i++)
            for (unsigned j = 0; j < N; j++) a[i][j] = next() % 100, b[i][j] = next() % 100;
        for (unsigned i = 0; i < N; i++)
            for (unsigned j = 0; j < N; j++) {
                double s = 0;
                for (unsigned k = 0; k < N; k++) s += a[i][k] * b[k][j];
                sum += (uint32_t)s;
            }
    }
    return sum;
}

__attribute__((noinline)) static uint32_t fibonacci(unsigned number) {
    return number < 2 ? number : fibonacci(number - 1) + fibonacci(number - 2);
}

static uint32_t calls(unsigned amount) {
    uint32_t sum = 0;
    while (amount--) sum += fibonacci(22);
    return sum;
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        uint32_t (*run)(unsigned);
    } all[] = {{"sort", sort}, {"sieve", sieve}, {"text", text}, {"matrix", matrix}, {"calls", calls}};
    const char *what = count > 1 ? arguments[1] : "all";
    unsigned amount = count > 2 ? (unsigned)atoi(arguments[2]) : 1;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(what, "all") || !strcmp(what, all[i].name))
            printf("cpu: %s %08x\n", all[i].name, (unsigned)all[i].run(amount));
    return 0;
}
