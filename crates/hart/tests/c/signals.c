/* Signals to itself: handlers, masks, faults, and the end by one. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t seen;
static volatile double kept;
static sigjmp_buf back;
static char stack[65536];

static void count(int signal) {
    seen += signal;
    kept = kept * 2.5;
}

static void tell(int signal, siginfo_t *info, void *context) {
    char here;
    int on_stack = &here >= stack && &here < stack + sizeof stack;
    printf("signal %d code %d address %lx own stack %d context %d\n", signal, info->si_code, (long)info->si_addr,
           on_stack, context != NULL);
    siglongjmp(back, signal);
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = count};
    sigaction(SIGUSR1, &action, NULL);
    kept = 1.5;
    double before = kept;
    printf("%d %d\n", raise(SIGUSR1), (int)seen);
    printf("%g %g\n", before, kept);

    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, &old);
    kill(getpid(), SIGUSR1);
    printf("blocked %d\n", (int)seen);
    sigpending(&set);
    printf("pending %d\n", sigismember(&set, SIGUSR1));
    sigprocmask(SIG_SETMASK, &old, NULL);
    printf("delivered %d\n", (int)seen);
    signal(SIGUSR1, SIG_IGN);
    raise(SIGUSR1);
    printf("ignored %d\n", (int)seen);

    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    printf("%d\n", sigaltstack(&own, NULL));
    struct sigaction telling = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &telling, NULL);
    sigaction(SIGILL, &telling, NULL);
    if (sigsetjmp(back, 1) == 0) *(volatile int *)16 = 1;
    char *page = mmap((void *)0x10000000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (sigsetjmp(back, 1) == 0) page[8] = 1;
    fflush(stdout);

    if (argc > 1 && !strcmp(argv[1], "abort")) abort();
    if (argc > 1 && !strcmp(argv[1], "term")) {
        kill(getpid(), SIGTERM);
        printf("not here\n");
    }
    return 0;
}
