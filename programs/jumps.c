// Long jumps out of calls: the returns that a trace decoder never sees.
// Argument: how many times.
#include "runtime/runtime.h"

static jump_buffer outer, inner;

// Leaves from some depth; floating-point registers are in use on the way.
static double __attribute__((noinline)) descend(int depth, int target, double value)
{
    if (depth == 0)
        long_jump(target ? &inner : &outer, target);
    return descend(depth - 1, target, value * 0.5) + value;
}

// The caller's registers must be as they were at set_jump: these live in s0 to s11 and fs0 to fs11.
static u32 __attribute__((noinline)) attempt(u64 *random, u32 checksum)
{
    double a = (double)(next_random(random) >> 40), b = a * 3, c = a + b;
    u64 x = next_random(random), y = x * 7, z = x ^ y;
    int depth = (int)(x >> 60), target = (int)(y >> 62);
    int value = set_jump(target ? &inner : &outer);
    if (value == 0)
        descend(depth, target, a);
    // A jump with 0 arrives as 1.
    if (value != (target ? target : 1) || b != a * 3 || c != a + b || y != x * 7 || z != (x ^ y))
        exit(1);
    return mix(checksum, z + (u64)c + (u64)value);
}

// Each level waits in set_jump; the last one either leaves them all, or each jumps to itself and returns.
static int nested(int level, int leave)
{
    jump_buffer here;
    int value = set_jump(&here);
    if (value)
        return value;
    if (level == 0 && leave)
        long_jump(&outer, 100);
    value = level ? nested(level - 1, leave) : 0;
    long_jump(&here, value + 1);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? parse_decimal(argv[1]) : 10000;
    u64 random = 7;
    // Both change between set_jump and long_jump: only memory keeps that.
    volatile u32 checksum = CHECKSUM_START;
    for (volatile long i = 0; i < count; i++)
        checksum = attempt(&random, checksum);
    volatile int rounds = 0;
    int value = set_jump(&outer);
    if (value)
        checksum = mix(checksum, (u64)value);
    while (rounds < 5) {
        rounds++;
        checksum = mix(checksum, (u64)nested(rounds, rounds & 1));
    }
    print_string("jumps ");
    print_decimal(count);
    print_string(", rounds ");
    print_decimal(rounds);
    print_string(", last value ");
    print_decimal(value);
    print_string("\n");
    print_checksum("jumps", checksum);
    return value == 100 ? 0 : 1;
}
