#include "runtime.h"

long parse_decimal(const char *text)
{
    int negative = *text == '-';
    long value = 0;
    for (text += negative; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (*text - '0');
    return negative ? -value : value;
}

u32 mix(u32 checksum, u64 value)
{
    for (int i = 0; i < 8; i++) {
        checksum = (checksum ^ (u8)value) * 0x01000193u;
        value >>= 8;
    }
    return checksum;
}

u64 next_random(u64 *state)
{
    u64 x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}
