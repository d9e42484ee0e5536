#include "bare.h"

#define TIME ((volatile word *)0x0200bff8)
#define COMPARE ((volatile word *)0x02004000)

u64 clint_time(void)
{
#if __riscv_xlen == 64
    return TIME[0];
#else
    // The halves must be of one time: again, where the upper one changed.
    for (;;) {
        u32 high = TIME[1], low = TIME[0];
        if (TIME[1] == high)
            return (u64)high << 32 | low;
    }
#endif
}

void clint_set_timer(u64 when)
{
#if __riscv_xlen == 64
    COMPARE[0] = when;
#else
    // Never earlier than meant on the way there.
    COMPARE[1] = ~0u;
    COMPARE[0] = (u32)when;
    COMPARE[1] = (u32)(when >> 32);
#endif
}
