// A program that runs faster when a compiler knows what runs: branches that nearly always go one way, which nothing in the source
// tells; code that hardly ever runs in the middle of code that always does; a function called through a pointer that nearly always
// is the same; and calls in the hot loop of functions that are too large to be inlined without a reason.
// Argument: how many records.
#include <stdio.h>
#include <stdlib.h>

#include "pays.h"

static struct record records[RECORDS];

static unsigned seed = 12345;

static unsigned next_random(void)
{
    seed = seed * 1103515245u + 12345u;
    return seed >> 8;
}

// Nearly all records are of kind KIND_SAMPLE; and nearly all of those are in order.
static void fill(void)
{
    for (int i = 0; i < RECORDS; i++) {
        unsigned chance = next_random() % 1000;
        struct record *r = &records[i];
        r->kind = chance < 970 ? KIND_SAMPLE : chance < 990 ? KIND_DELTA : chance < 996 ? KIND_RESET : KIND_NOTE;
        r->value = next_random() % 1000;
        r->weight = chance % 100 == 0 ? 0 : 1 + chance % 7;
        r->apply = chance < 985 ? apply_scaled : apply_saturating;
    }
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 100000;
    struct state state = {0};
    fill();
    for (long i = 0; i < count; i++)
        take(&state, &records[i & (RECORDS - 1)]);
    printf("%u %u %u %u\n", state.sum, state.low, state.high, state.odd);
    return 0;
}
