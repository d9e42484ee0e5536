// Apart from the other print functions: bare programs are built without floating point.
#include "runtime.h"

// Enough for what the programs here print: below 2^63, and some places.
void print_double(double value, int places)
{
    if (value != value) {
        print_string("nan");
        return;
    }
    if (__builtin_signbit(value)) {
        print_string("-");
        value = -value;
    }
    if (value >= 9.2e18) {
        print_string(value > 1.7976931348623157e308 ? "inf" : "huge");
        return;
    }
    u64 scale = 1;
    for (int i = 0; i < places; i++)
        scale *= 10;
    u64 whole = (u64)value;
    u64 fraction = (u64)((value - (double)whole) * (double)scale + 0.5);
    if (fraction >= scale) {
        fraction -= scale;
        whole++;
    }
    print_decimal((long)whole);
    if (places == 0)
        return;
    print_string(".");
    // Leading zeros of the fraction count.
    for (u64 at = scale / 10; at > 1 && fraction < at; at /= 10)
        print_string("0");
    print_decimal((long)fraction);
}
