/* What the system tells: arguments, clocks, names, numbers. Nothing that differs from one machine to the next. */
#define _GNU_SOURCE
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) printf("argument %d: %s\n", i, argv[i]);
    printf("TESTED=%s\n", getenv("TESTED") ? getenv("TESTED") : "(none)");
    char line[100];
    while (fgets(line, sizeof line, stdin)) printf("input: %s", line);

    struct timespec a, b, nap = {0, 2000000};
    clock_gettime(CLOCK_MONOTONIC, &a);
    nanosleep(&nap, NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    long passed = (b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec;
    printf("passed %d\n", passed >= 2000000);
    struct timeval now;
    gettimeofday(&now, NULL);
    printf("today %d %d\n", time(NULL) > 1600000000, now.tv_sec >= time(NULL) - 1);
    time_t then = 1234567890;
    printf("%s", asctime(gmtime(&then)));
    struct tms spent;
    printf("times %d clock %d\n", times(&spent) != (clock_t)-1, clock() != (clock_t)-1);

    struct utsname name;
    uname(&name);
    printf("%s %s\n", name.sysname, name.machine);
    printf("page %ld ticks %ld\n", sysconf(_SC_PAGESIZE), sysconf(_SC_CLK_TCK));
    printf("auxiliary %lu %d %d %d\n", getauxval(AT_PAGESZ), getauxval(AT_PHDR) != 0, getauxval(AT_ENTRY) != 0,
           getauxval(AT_RANDOM) != 0);
    printf("headers %lu of %lu, secure %lu\n", getauxval(AT_PHNUM), getauxval(AT_PHENT), getauxval(AT_SECURE));
    printf("hardware %d\n", (getauxval(AT_HWCAP) & 0x112d) == 0x112d);
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    printf("stack %d\n", limit.rlim_cur >= 8 << 20);
    unsigned char noise[16] = {0};
    int set = 0;
    printf("random %zd ", getrandom(noise, sizeof noise, 0));
    for (int i = 0; i < 16; i++) set += __builtin_popcount(noise[i]);
    printf("%d\n", set > 30 && set < 98);
    printf("%d %d\n", getpid() > 0, isatty(1));
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    path[len > 0 ? len : 0] = 0;
    char *base = strrchr(path, '/');
    printf("exe %s\n", base ? base : "(none)");
    fprintf(stderr, "to standard error\n");
    atexit((void (*)(void))abort == NULL ? NULL : (void (*)(void))tzset);
    exit(300);
}
