// Two tasks on one hart: a timer interrupt takes the hart from one and gives it to the other, at any instruction.
// What they work out is right only when no register is lost on the way.
#include "runtime/bare.h"

enum { INTERVAL = 1000, TASKS = 2, STACK = 2048, ENOUGH = 8 };
enum { START, YIELD, DONE }; // What a task may ask for, in a7.

static frame frames[TASKS];
static u8 stacks[TASKS][STACK] __attribute__((aligned(16)));
static volatile int done[TASKS];
static volatile long preemptions, yields;
static frame *main_frame;
static int current;

static void ask(word what)
{
    register word a7 __asm__("a7") = what;
    __asm__ volatile("ecall" ::"r"(a7) : "memory");
}

// The next task in turn that still runs; main where there is none.
static frame *next(void)
{
    for (int i = 1; i <= TASKS; i++) {
        int task = (current + i) % TASKS;
        if (!done[task]) {
            current = task;
            clint_set_timer(clint_time() + INTERVAL);
            return &frames[task];
        }
    }
    clint_set_timer(~0ull);
    return main_frame;
}

frame *machine_trap(frame *f)
{
    if (f->cause == (INTERRUPT | TIMER_INTERRUPT)) {
        preemptions++;
        return next();
    }
    if (f->cause != 11) // A call from machine mode: all runs there.
        exit(1);
    f->x[PC] += 4;
    switch (f->x[A7]) {
    case START:
        main_frame = f;
        current = TASKS - 1;
        break;
    case YIELD: yields++; break;
    case DONE: done[current] = 1; break;
    }
    return next();
}

// One line at a time, and task 0 before task 1: the output is the same at any speed.
static volatile int turn;

static void report(int task, const char *what, u32 value)
{
    while (turn != task)
        ask(YIELD);
    CLEAR_CSR(mstatus, STATUS_MIE);
    print_string("task ");
    print_decimal(task);
    print_string(": ");
    print_string(what);
    print_hex(value, 8);
    print_string("\n");
    SET_CSR(mstatus, STATUS_MIE);
    turn = task + 1;
}

static u32 count_primes(void)
{
    u32 count = 0, checksum = CHECKSUM_START;
    for (word n = 2; n < 6000; n++) {
        word factor = 2;
        while (factor * factor <= n && n % factor)
            factor++;
        if (factor * factor > n) {
            count++;
            checksum = mix(checksum, n);
        }
    }
    return mix(checksum, count);
}

static u32 mix_numbers(void)
{
    u64 random = 10;
    u32 checksum = CHECKSUM_START;
    for (int i = 0; i < 15000; i++)
        checksum = mix(checksum, next_random(&random));
    return checksum;
}

static u32 results[TASKS];

// Once is enough on most machines. Where the clock is slow, a task works until it was interrupted some times.
static void work(int task, u32 (*function)(void), const char *what)
{
    u32 result = function();
    for (int round = 0; round < 1000 && preemptions < ENOUGH; round++)
        if (function() != result)
            exit(1);
    results[task] = result;
    report(task, what, result);
    ask(DONE);
}

static void first_task(void)
{
    work(0, count_primes, "checksum of primes ");
}

static void second_task(void)
{
    work(1, mix_numbers, "checksum of random numbers ");
}

static void prepare(int task, void (*function)(void))
{
    frame *f = &frames[task];
    f->x[PC] = (word)function;
    f->x[SP] = (word)(stacks[task] + STACK);
    __asm__("mv %0, gp" : "=r"(f->x[GP]));
    f->status = (word)MACHINE << STATUS_MPP_AT | STATUS_MPIE;
}

int main(void)
{
    prepare(0, first_task);
    prepare(1, second_task);
    SET_CSR(mie, 1 << TIMER_INTERRUPT);
    ask(START);
    int enough = preemptions >= ENOUGH;
    print_string(enough ? "both ran in turns: yes\n" : "both ran in turns: no\n");
    print_checksum("tasks", mix(mix(CHECKSUM_START, results[0]), results[1]));
    return enough ? 0 : 1;
}
