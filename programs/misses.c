// A loop that misses the data cache at every step, beside loops that take as many steps and do not. Argument: how many rounds.
//
// `walk_scattered_list` is what a search for stalls should find: each step waits for a line from memory. `walk_short_list` is
// the same loop over a list that stays in the cache.
#include "runtime/runtime.h"

// A line of the larger caches each, so that no two nodes share one. 4096 are 256 KiB: eight times a cache of 32 KiB.
enum { LINE = 64, SCATTERED = 4096, SHORT = 64, WORDS = 512 };

typedef struct node {
    struct node *next;
    u64 value;
} __attribute__((aligned(LINE))) node;

static node scattered[SCATTERED], near[SHORT];
static u64 words[WORDS];

// Each compiled as if nobody knew the others: two functions with the same loop stay two.
#define APART __attribute__((noipa))

// Links all nodes (a power of two) into one ring, each to one far away: a full period, since the increment is odd and the factor is
// one more than a multiple of four.
static APART void link_ring(node *nodes, u32 count)
{
    u32 at = 0;
    for (u32 i = 0; i < count; i++) {
        u32 next = (at * 1229 + 1) & (count - 1);
        nodes[at].next = &nodes[next];
        nodes[at].value = at;
        at = next;
    }
}

static APART u64 walk_scattered_list(const node *at, u32 steps)
{
    u64 sum = 0;
    for (u32 i = 0; i < steps; i++) {
        sum += at->value;
        at = at->next;
    }
    return sum;
}

static APART u64 walk_short_list(const node *at, u32 steps)
{
    u64 sum = 0;
    for (u32 i = 0; i < steps; i++) {
        sum += at->value;
        at = at->next;
    }
    return sum;
}

static APART u64 sum_in_order(const u64 *numbers, u32 steps)
{
    u64 sum = 0;
    for (u32 i = 0; i < steps; i++)
        sum += numbers[i % WORDS];
    return sum;
}

static APART u64 stir_registers(u64 state, u32 steps)
{
    for (u32 i = 0; i < steps; i++)
        state = (state << 7 | state >> 57) + (state ^ i);
    return state;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? parse_decimal(argv[1]) : 12;
    if (rounds < 1 || rounds > 1000)
        return 2;
    link_ring(scattered, SCATTERED);
    link_ring(near, SHORT);
    for (u32 i = 0; i < WORDS; i++)
        words[i] = i;
    u32 checksum = CHECKSUM_START;
    u64 stirred = 1;
    for (long round = 0; round < rounds; round++) {
        // Whole turns of each ring: every node counts as often as any other.
        u64 far = walk_scattered_list(scattered, SCATTERED);
        u64 close = walk_short_list(near, SCATTERED);
        u64 order = sum_in_order(words, SCATTERED);
        stirred = stir_registers(stirred, SCATTERED);
        if (far != (u64)SCATTERED * (SCATTERED - 1) / 2 || close != (u64)SCATTERED * (SHORT - 1) / 2 ||
            order != (u64)SCATTERED * (WORDS - 1) / 2)
            return 1;
        checksum = mix(mix(mix(mix(checksum, far), close), order), stirred);
    }
    print_string("rounds ");
    print_decimal(rounds);
    print_string(", steps of each loop ");
    print_decimal(rounds * SCATTERED);
    print_string("\n");
    print_checksum("misses", checksum);
    return 0;
}
