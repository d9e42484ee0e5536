// Bit manipulation (Zba, Zbb, Zbs): each instruction against the same thing in plain C.
#include "runtime/runtime.h"

static u64 extend(u32 value)
{
    return (u64)(i64)(i32)value;
}

static u64 leading_zeros(u64 value, int width)
{
    int count = 0;
    for (int bit = width - 1; bit >= 0 && !(value >> bit & 1); bit--)
        count++;
    return (u64)count;
}

static u64 trailing_zeros(u64 value, int width)
{
    int count = 0;
    while (count < width && !(value >> count & 1))
        count++;
    return (u64)count;
}

static u64 ones(u64 value)
{
    int count = 0;
    for (; value; value >>= 1)
        count += value & 1;
    return (u64)count;
}

static u64 rotate_right(u64 value, u64 by)
{
    by &= 63;
    return by ? value >> by | value << (64 - by) : value;
}

static u64 rotate_right_word(u32 value, u64 by)
{
    by &= 31;
    return extend(by ? value >> by | value << (32 - by) : value);
}

static u64 or_combine(u64 value)
{
    u64 result = 0;
    for (int byte = 0; byte < 8; byte++)
        if (value >> 8 * byte & 255)
            result |= 255ull << 8 * byte;
    return result;
}

static u64 reverse(u64 value)
{
    u64 result = 0;
    for (int byte = 0; byte < 8; byte++)
        result = result << 8 | (value >> 8 * byte & 255);
    return result;
}

// name, what it does to a and b. The immediates are those of bits_operations.S.
#define OPERATIONS(X)                                                                                                       \
    X(add_uw, b + (u32)a)                                                                                                  \
    X(sh1add, b + (a << 1))                                                                                                \
    X(sh2add, b + (a << 2))                                                                                                \
    X(sh3add, b + (a << 3))                                                                                                \
    X(sh1add_uw, b + ((u64)(u32)a << 1))                                                                                   \
    X(sh2add_uw, b + ((u64)(u32)a << 2))                                                                                   \
    X(sh3add_uw, b + ((u64)(u32)a << 3))                                                                                   \
    X(slli_uw, (u64)(u32)a << 37)                                                                                          \
    X(andn, a & ~b)                                                                                                        \
    X(orn, a | ~b)                                                                                                         \
    X(xnor, ~(a ^ b))                                                                                                      \
    X(clz, leading_zeros(a, 64))                                                                                           \
    X(clzw, leading_zeros(a, 32))                                                                                          \
    X(ctz, trailing_zeros(a, 64))                                                                                          \
    X(ctzw, trailing_zeros(a, 32))                                                                                         \
    X(cpop, ones(a))                                                                                                       \
    X(cpopw, ones((u32)a))                                                                                                 \
    X(max, (i64)a > (i64)b ? a : b)                                                                                        \
    X(maxu, a > b ? a : b)                                                                                                 \
    X(min, (i64)a < (i64)b ? a : b)                                                                                        \
    X(minu, a < b ? a : b)                                                                                                 \
    X(sext_b, (u64)(i64)(i8)a)                                                                                             \
    X(sext_h, (u64)(i64)(i16)a)                                                                                            \
    X(zext_h, (u16)a)                                                                                                      \
    X(rol, rotate_right(a, -b))                                                                                            \
    X(rolw, rotate_right_word((u32)a, -b))                                                                                 \
    X(ror, rotate_right(a, b))                                                                                             \
    X(rorw, rotate_right_word((u32)a, b))                                                                                  \
    X(rori, rotate_right(a, 41))                                                                                           \
    X(roriw, rotate_right_word((u32)a, 11))                                                                                \
    X(orc_b, or_combine(a))                                                                                                \
    X(rev8, reverse(a))                                                                                                    \
    X(bclr, a & ~(1ull << (b & 63)))                                                                                       \
    X(bext, a >> (b & 63) & 1)                                                                                             \
    X(binv, a ^ 1ull << (b & 63))                                                                                          \
    X(bset, a | 1ull << (b & 63))                                                                                          \
    X(bclri, a & ~(1ull << 63))                                                                                            \
    X(bexti, a >> 32 & 1)                                                                                                  \
    X(binvi, a ^ 1ull << 31)                                                                                               \
    X(bseti, a | 1ull << 47)

#define DECLARE(name, meaning)                                                                                              \
    u64 do_##name(u64 a, u64 b);                                                                                           \
    static u64 mean_##name(u64 a, u64 b)                                                                                   \
    {                                                                                                                      \
        (void)b;                                                                                                           \
        return meaning;                                                                                                    \
    }
OPERATIONS(DECLARE)

static const struct {
    const char *name;
    u64 (*instruction)(u64, u64), (*meaning)(u64, u64);
} operations[] = {
#define ENTRY(name, meaning) {#name, do_##name, mean_##name},
    OPERATIONS(ENTRY)
};

int main(void)
{
    static const u64 edges[] = {0, 1, 0x80, 0x8000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x8000000000000000, ~0ull};
    u64 random = 9;
    u32 checksum = CHECKSUM_START;
    u64 wrong = 0; // A bit for each instruction.
    for (size pair = 0; pair < 400; pair++) {
        u64 a = pair < 100 ? edges[pair / 10] : next_random(&random);
        u64 b = pair < 100 ? edges[pair % 10] : next_random(&random);
        // Numbers with few bits too: else zeros are never counted far.
        if (pair >= 250)
            a >>= b >> 58;
        for (size i = 0; i < COUNT(operations); i++) {
            u64 meant = operations[i].meaning(a, b);
            checksum = mix(checksum, meant); // The same on every machine; what went wrong is said apart.
            // One line for each instruction is enough.
            if (operations[i].instruction(a, b) == meant || wrong >> i & 1)
                continue;
            wrong |= 1ull << i;
            print_string("wrong: ");
            print_string(operations[i].name);
            print_string("\n");
        }
    }
    print_string("instructions ");
    print_decimal(COUNT(operations));
    print_string(", pairs 400\n");
    print_checksum("bits", checksum);
    return wrong != 0;
}
