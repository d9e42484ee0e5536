#include "runtime.h"

static char line[256];
static size used;

void print_flush(void)
{
    output(line, used);
    used = 0;
}

static void print_char(char c)
{
    line[used++] = c;
    if (c == '\n' || used == sizeof line)
        print_flush();
}

void print_string(const char *text)
{
    while (*text)
        print_char(*text++);
}

void print_decimal(long value)
{
    char digits[24];
    int count = 0;
    // The smallest number has no positive twin, but its unsigned value is right.
    word rest = value < 0 ? -(word)value : (word)value;
    if (value < 0)
        print_char('-');
    do {
        digits[count++] = '0' + rest % 10;
        rest /= 10;
    } while (rest);
    while (count)
        print_char(digits[--count]);
}

void print_hex(u64 value, int digits)
{
    char text[16];
    // Shifts by a constant only: others need the compiler's library on 32-bit machines.
    for (int i = 0; i < 16; i++) {
        text[15 - i] = "0123456789abcdef"[value & 15];
        value >>= 4;
    }
    print_string("0x");
    for (int i = 16 - digits; i < 16; i++)
        print_char(text[i]);
}

void print_checksum(const char *name, u32 checksum)
{
    print_string(name);
    print_string(": checksum ");
    print_hex(checksum, 8);
    print_string("\n");
}
