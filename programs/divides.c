// A loop of divisions that wait for each other, beside loops that do the same work without one. Argument: how many rounds.
//
// `digits_by_division` is what a search for stalls should find: a division takes tens of cycles, and the next one needs
// its result. `digits_by_multiplication` and `digits_by_subtraction` get the same digits of the same numbers.
#include "runtime/runtime.h"

enum { NUMBERS = 64, DIGITS = 19 };
static u64 numbers[NUMBERS];

// Three functions, each compiled as if nobody knew the others: the base stays a number that only the caller knows.
#define APART __attribute__((noipa))

static APART u64 digits_by_division(u64 base)
{
    u64 sum = 0;
    for (int i = 0; i < NUMBERS; i++)
        for (u64 left = numbers[i]; left; left /= base)
            sum += left % base;
    return sum;
}

// A quotient by ten is the upper half of a product with 2^67 / 10, rounded up.
static APART u64 digits_by_multiplication(void)
{
    u64 sum = 0;
    for (int i = 0; i < NUMBERS; i++)
        for (u64 left = numbers[i]; left;) {
            u64 quotient = (u64)((unsigned __int128)left * 0xcccccccccccccccdu >> 67);
            sum += left - quotient * 10;
            left = quotient;
        }
    return sum;
}

// Powers of ten are taken away, the highest first, as often as it goes.
static APART u64 digits_by_subtraction(const u64 *powers)
{
    u64 sum = 0;
    for (int i = 0; i < NUMBERS; i++) {
        u64 left = numbers[i];
        for (int digit = DIGITS; digit--;)
            for (; left >= powers[digit]; left -= powers[digit])
                sum++;
    }
    return sum;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? parse_decimal(argv[1]) : 16;
    if (rounds < 1 || rounds > 1000)
        return 2;
    u64 powers[DIGITS], power = 1, random = 7;
    for (int i = 0; i < DIGITS; i++, power *= 10)
        powers[i] = power;
    u32 checksum = CHECKSUM_START;
    u64 all = 0;
    for (long round = 0; round < rounds; round++) {
        // Below 10^19: nineteen digits at most.
        for (int i = 0; i < NUMBERS; i++)
            numbers[i] = next_random(&random) >> 1;
        u64 sum = digits_by_division(10);
        if (sum != digits_by_multiplication() || sum != digits_by_subtraction(powers))
            return 1;
        all += sum;
        checksum = mix(checksum, sum);
    }
    print_string("rounds ");
    print_decimal(rounds);
    print_string(", sum of all digits ");
    print_decimal((long)all);
    print_string("\n");
    print_checksum("divides", checksum);
    return 0;
}
