// Exceptions and the three modes: what traps, where it goes, and how to come back.
// Each trap is a line. Values that machines may choose freely (an illegal instruction's mtval) do not show.
#include "runtime/bare.h"
#include "traps_misaligned.h"

#define NOTHING_THERE 0x40000000 // No memory and no device.

enum { FETCH_FAULT = 1, ILLEGAL = 2, BREAKPOINT = 3, LOAD_FAULT = 5, STORE_FAULT = 7, CALL_FROM_USER = 8, CALL_FROM_SUPERVISOR = 9, CALL_FROM_MACHINE = 11 };
static const char *const names[] = {
    "fetch misaligned", "fetch fault", "illegal instruction", "breakpoint",     "load misaligned",      "load fault",
    "store misaligned", "store fault", "call from user",      "call from supervisor", "reserved", "call from machine",
};
static const char modes[] = "US?M";

// What a call asks for, in a7.
enum { NOTHING, ENTER, LEAVE };

static u32 checksum = CHECKSUM_START;
static volatile int atomic_misaligned; // Set before one, cleared by its trap.

static void say(const char *text)
{
    print_string(text);
    print_string("\n");
}

static void report(int handler, word from, word cause)
{
    print_string("  ");
    print_string(cause < COUNT(names) ? names[cause] : "unknown");
    print_string(", from ");
    char letters[] = {modes[from & 3], ' ', 't', 'o', ' ', modes[handler], '\n', 0};
    print_string(letters);
    checksum = mix(checksum, (u64)handler << 16 | from << 8 | cause);
}

static void wrong(const char *what)
{
    print_string("wrong: ");
    say(what);
    exit(1);
}

// The next instruction: its first two bits say how long this one is.
static void skip(frame *f)
{
    f->x[PC] += (*(const u16 *)f->x[PC] & 3) == 3 ? 4 : 2;
}

// What both handlers do alike.
static void handle(int handler, word from, frame *f)
{
    report(handler, from, f->cause);
    switch (f->cause) {
    case FETCH_FAULT:
        if (f->value != NOTHING_THERE || f->x[PC] != NOTHING_THERE)
            wrong("address of a fetch fault");
        f->x[PC] = f->x[RA]; // It was a call.
        break;
    case LOAD_FAULT:
    case STORE_FAULT:
        if (f->value != NOTHING_THERE)
            wrong("address of a fault");
        skip(f);
        break;
    case ILLEGAL:
    case BREAKPOINT:
    case CALL_FROM_USER:
    case CALL_FROM_SUPERVISOR:
    case CALL_FROM_MACHINE: skip(f); break;
    default: wrong("cause");
    }
}

// Machine mode: ENTER runs a function in a lower mode, LEAVE comes back from it.
static frame before_enter;

frame *machine_trap(frame *f)
{
    word from = f->status >> STATUS_MPP_AT & 3;
    if (atomic_misaligned && f->cause >= 4 && f->cause <= 7) {
        // Which of the causes is the machine's choice.
        atomic_misaligned = 0;
        skip(f);
        return f;
    }
    // Machines that do it themselves never get here, so that it must not show.
    if ((f->cause == 4 || f->cause == 6) && do_misaligned(f)) {
        skip(f);
        return f;
    }
    handle(MACHINE, from, f);
    if (f->cause < CALL_FROM_USER)
        return f;
    if (f->x[A7] == ENTER && from == MACHINE) {
        before_enter = *f;
        f->x[PC] = f->x[A0];
        f->x[SP] = f->x[A2];
        f->status = (f->status & ~((word)3 << STATUS_MPP_AT)) | f->x[A1] << STATUS_MPP_AT;
    } else if (f->x[A7] == LEAVE) {
        *f = before_enter;
    }
    return f;
}

static void call(word what)
{
    register word a7 __asm__("a7") = what;
    __asm__ volatile("ecall" ::"r"(a7) : "memory");
}

static u8 stacks[2][4096] __attribute__((aligned(16)));

static void run_in(word mode, void (*function)(void), u8 *stack_top)
{
    register word a0 __asm__("a0") = (word)function;
    register word a1 __asm__("a1") = mode;
    register word a2 __asm__("a2") = (word)stack_top;
    register word a7 __asm__("a7") = ENTER;
    __asm__ volatile("ecall" ::"r"(a0), "r"(a1), "r"(a2), "r"(a7) : "memory");
}

// The same faults for any mode.
static void illegal(void)
{
    __asm__ volatile(".option push\n.option norvc\nunimp\n.option pop"); // 4 bytes: a write to a read-only register.
    __asm__ volatile(".option push\n.option rvc\nc.unimp\n.option pop"); // 2 bytes: all zero.
}

static void breakpoints(void)
{
    __asm__ volatile(".option push\n.option norvc\nebreak\n.option pop");
    __asm__ volatile("c.ebreak");
}

static void faults(void)
{
    __asm__ volatile("lw t0, 0(%0)" ::"r"((word)NOTHING_THERE) : "t0", "memory");
    __asm__ volatile("sw zero, 0(%0)" ::"r"((word)NOTHING_THERE) : "memory");
    ((void (*)(void))NOTHING_THERE)();
}

static void user_alone(void)
{
    call(NOTHING);
    __asm__ volatile("csrr t0, mstatus" ::: "t0");
    breakpoints();
    faults();
    call(LEAVE);
}

// Supervisor mode, with some causes of its own: it enters user mode by itself (traps_modes.S).
void enter_user(void (*function)(void), u8 *stack_top);
void leave_user(void);

frame *supervisor_trap(frame *f)
{
    handle(SUPERVISOR, f->status & STATUS_SPP ? SUPERVISOR : USER, f);
    if (f->cause == CALL_FROM_USER && f->x[A7] == LEAVE) {
        f->x[PC] = (word)leave_user;
        f->status |= STATUS_SPP;
    }
    return f;
}

static void user_below_supervisor(void)
{
    call(NOTHING);
    illegal();
    __asm__ volatile("csrr t0, sstatus" ::: "t0");
    __asm__ volatile("mret");
    breakpoints();
    faults();
    call(LEAVE);
}

static void supervisor(void)
{
    static frame own;
    WRITE_CSR(sscratch, &own);
    WRITE_CSR(stvec, supervisor_trap_entry);
    call(NOTHING);
    illegal();
    __asm__ volatile("csrr t0, mstatus" ::: "t0");
    breakpoints();
    faults();
    enter_user(user_below_supervisor, stacks[1] + sizeof stacks[1]);
    say("supervisor mode again");
    call(LEAVE);
}

static void atomic_traps(void)
{
    static u32 memory[2];
    atomic_misaligned = 1;
    __asm__ volatile("amoadd.w t0, t0, (%0)" ::"r"((u8 *)memory + 1) : "t0", "memory");
    if (atomic_misaligned)
        wrong("a misaligned atomic operation must trap");
}

int main(void)
{
    say("machine mode");
    illegal();
    breakpoints();
    faults();
    call(NOTHING);
    atomic_traps();
    checksum = try_misaligned(checksum);
    say("user mode, all traps to machine mode");
    run_in(USER, user_alone, stacks[0] + sizeof stacks[0]);
    say("supervisor mode, some traps are its own");
    WRITE_CSR(medeleg, 1 << ILLEGAL | 1 << BREAKPOINT | 1 << CALL_FROM_USER | 1 << STORE_FAULT);
    run_in(SUPERVISOR, supervisor, stacks[0] + sizeof stacks[0]);
    say("machine mode again");
    // Delegation is for lower modes only.
    illegal();
    print_checksum("traps", checksum);
    return 0;
}
