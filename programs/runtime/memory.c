// Built with -fno-tree-loop-distribute-patterns: else the compiler makes a call to memcpy out of memcpy's loop.
#include "runtime.h"

void *memcpy(void *to, const void *from, size length)
{
    u8 *t = to;
    const u8 *f = from;
    // By words where both ends allow it.
    if ((((word)t | (word)f) & (sizeof(word) - 1)) == 0) {
        for (; length >= sizeof(word); length -= sizeof(word)) {
            *(word __attribute__((may_alias)) *)t = *(const word __attribute__((may_alias)) *)f;
            t += sizeof(word);
            f += sizeof(word);
        }
    }
    while (length--)
        *t++ = *f++;
    return to;
}

void *memset(void *to, int value, size length)
{
    for (u8 *t = to; length; length--)
        *t++ = (u8)value;
    return to;
}

int memcmp(const void *a, const void *b, size length)
{
    const u8 *x = a, *y = b;
    for (; length; length--, x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

size length_of(const char *text)
{
    size length = 0;
    while (text[length])
        length++;
    return length;
}
