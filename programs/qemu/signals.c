// Signals: of a timer in a hot loop, faults that a handler mends or leaves by a long jump, an alternate stack, handlers
// inside handlers.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms, mended, nested, on_stack;
static sigjmp_buf back;
static char *page;
static char *other_stack;
enum { OTHER_STACK = 64 << 10, ALARMS = 10 };

static void on_alarm(int signal) {
    (void)signal;
    alarms++;
}

static void mend(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    char here;
    on_stack += &here >= other_stack && &here < other_stack + OTHER_STACK;
    mprotect((void *)((uintptr_t)info->si_addr & -(uintptr_t)4096), 4096, PROT_READ | PROT_WRITE);
    mended++;
}

static void leave(int signal) {
    siglongjmp(back, signal);
}

static void inner(int signal) {
    (void)signal;
    nested += 10;
}

static void outer(int signal) {
    (void)signal;
    nested++;
    raise(SIGUSR2);
    nested++;
}

static void handle(int signal, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(signal, &action, 0);
}

__attribute__((noinline)) static uint32_t step(uint32_t value) {
    return value % 3 ? value * 5 + 1 : value / 3 + 7;
}

__attribute__((noinline)) static int fault(int depth) {
    if (depth) return fault(depth - 1) + depth;
    return *(volatile int *)page;
}

int main(void) {
    other_stack = malloc(OTHER_STACK);
    stack_t stack = {.ss_sp = other_stack, .ss_size = OTHER_STACK};
    sigaltstack(&stack, 0);

    handle(SIGALRM, on_alarm);
    struct itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, 0);
    uint32_t value = 1;
    // No system call in here: a signal can come at any instruction.
    while (alarms < ALARMS) value = step(value);
    memset(&every, 0, sizeof every);
    setitimer(ITIMER_REAL, &every, 0);

    page = mmap(0, 8 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action = {.sa_sigaction = mend, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &action, 0);
    for (int i = 0; i < 8; i++) page[i * 4096 + i] = (char)i;

    mprotect(page, 4096, PROT_NONE);
    int left = 0;
    for (int i = 0; i < 5; i++) {
        handle(SIGSEGV, leave);
        if (sigsetjmp(back, 1) == SIGSEGV) left++;
        else fault(i);
    }

    handle(SIGUSR1, outer);
    handle(SIGUSR2, inner);
    raise(SIGUSR1);
    kill(getpid(), SIGUSR1);

    printf("signals: %d alarms, %d mended, %d on the other stack, %d left, %d nested\n", alarms >= ALARMS, mended,
           on_stack, left, nested);
    return value == 0;
}
