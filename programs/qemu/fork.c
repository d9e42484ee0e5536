// Processes: a child that computes and exits, one that is killed; `fork exec` becomes another program
// in the end, one of the machine that QEMU runs on.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned collatz(unsigned limit) {
    unsigned longest = 0;
    for (unsigned i = 1; i < limit; i++) {
        unsigned steps = 0;
        for (unsigned long long n = i; n != 1; steps++) n = n % 2 ? 3 * n + 1 : n / 2;
        if (steps > longest) longest = steps;
    }
    return longest;
}

static int status_of(pid_t child) {
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(int count, char **arguments) {
    pid_t child = fork();
    if (child == 0) _exit(collatz(300) & 0x7f);
    int first = status_of(child);

    int ends[2];
    if (pipe(ends)) return 2;
    child = fork();
    if (child == 0) {
        char ready = 1;
        if (write(ends[1], &ready, 1) == 1) pause();
        _exit(1);
    }
    char ready;
    if (read(ends[0], &ready, 1) != 1) return 2;
    kill(child, SIGKILL);
    int second = status_of(child);

    printf("fork: %u %d %d\n", collatz(500), first, second);
    fflush(stdout);
    if (count > 1 && !strcmp(arguments[1], "exec")) {
        char *other[] = {"/bin/true", 0};
        execv(other[0], other);
        return 3;
    }
    return 0;
}
