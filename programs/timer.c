// Interrupts of the core-local interruptor: the timer, polled, waited for and taken; and the software interrupt.
// How fast the clock runs depends on the machine, so that only counts show.
#include "runtime/bare.h"

enum { INTERVAL = 1000, TICKS = 10 };
static volatile long ticks, software;

frame *machine_trap(frame *f)
{
    if (f->cause == (INTERRUPT | TIMER_INTERRUPT)) {
        ticks++;
        clint_set_timer(clint_time() + INTERVAL);
    } else if (f->cause == (INTERRUPT | SOFTWARE_INTERRUPT)) {
        software++;
        CLINT_SOFTWARE = 0;
    } else {
        print_string("unexpected trap ");
        print_hex(f->cause, 16);
        print_string("\n");
        exit(1);
    }
    return f;
}

static u32 show(u32 checksum, const char *what, long value)
{
    print_string(what);
    print_decimal(value);
    print_string("\n");
    return mix(checksum, (u64)value);
}

int main(void)
{
    u32 checksum = CHECKSUM_START;
    clint_set_timer(~0ull);
    CLINT_SOFTWARE = 0;
    u64 before = clint_time();
    while (clint_time() == before)
        ;
    checksum = show(checksum, "time goes on: ", clint_time() > before);

    // Pending, but not taken: neither interrupt is enabled.
    checksum = show(checksum, "pending before: ", (long)(READ_CSR(mip) >> TIMER_INTERRUPT & 1));
    clint_set_timer(clint_time() + INTERVAL);
    while ((READ_CSR(mip) >> TIMER_INTERRUPT & 1) == 0)
        ;
    checksum = show(checksum, "ticks when polled: ", ticks);

    // Waiting ends with a pending interrupt that is enabled by itself, though traps are off.
    SET_CSR(mie, 1 << TIMER_INTERRUPT | 1 << SOFTWARE_INTERRUPT);
    clint_set_timer(clint_time() + INTERVAL);
    do
        __asm__ volatile("wfi");
    while ((READ_CSR(mip) >> TIMER_INTERRUPT & 1) == 0);
    checksum = show(checksum, "ticks when waited for: ", ticks);

    // Taken: at once, as it still is pending. The handler always sets the next one, so that waiting cannot hang.
    SET_CSR(mstatus, STATUS_MIE);
    while (ticks < TICKS)
        __asm__ volatile("wfi");
    checksum = show(checksum, "ticks after sleep: ", TICKS);

    // Taken in the middle of work.
    long start = ticks;
    volatile u32 work = 0;
    while (ticks < start + TICKS)
        work = work * 5 + 1;
    checksum = show(checksum, "ticks in work: ", TICKS);

    CLEAR_CSR(mie, 1 << TIMER_INTERRUPT);
    long end = ticks;
    CLINT_SOFTWARE = 1;
    while (software == 0)
        ;
    checksum = show(checksum, "software interrupts: ", software);
    checksum = show(checksum, "ticks when off: ", ticks - end);
    print_checksum("timer", checksum);
    return 0;
}
