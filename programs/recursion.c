// Deep and wide recursion: Ackermann, Fibonacci and the eight queens.
// Built without the optimizations that turn calls into loops: calls and returns are what it is for.
#include "runtime/runtime.h"

static long calls;

static long ackermann(long m, long n)
{
    calls++;
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

static long fibonacci(long n)
{
    calls++;
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// Bits say which columns and diagonals are taken.
static long queens(u32 all, u32 columns, u32 left, u32 right)
{
    calls++;
    if (columns == all)
        return 1;
    long ways = 0;
    for (u32 open = all & ~(columns | left | right); open; open &= open - 1) {
        u32 place = open & -open;
        ways += queens(all, columns | place, (left | place) << 1, (right | place) >> 1);
    }
    return ways;
}

// Each calls the other: a call stack of two functions.
static int is_odd(long n);

static int is_even(long n)
{
    calls++;
    return n == 0 ? 1 : is_odd(n - 1);
}

static int is_odd(long n)
{
    calls++;
    return n == 0 ? 0 : is_even(n - 1);
}

static u32 show(const char *what, long value, u32 checksum)
{
    print_string(what);
    print_decimal(value);
    print_string(", ");
    print_decimal(calls);
    print_string(" calls\n");
    checksum = mix(mix(checksum, (u64)value), (u64)calls);
    calls = 0;
    return checksum;
}

int main(void)
{
    u32 checksum = CHECKSUM_START;
    checksum = show("ackermann(3, 6) = ", ackermann(3, 6), checksum);
    checksum = show("fibonacci(22) = ", fibonacci(22), checksum);
    checksum = show("queens(8) = ", queens(255, 0, 0, 0), checksum);
    checksum = show("even(10001) = ", is_even(10001), checksum);
    print_checksum("recursion", checksum);
    return 0;
}
