/* Text, numbers, sorting, and jumps over frames: what the C library does without the kernel. */
#include <ctype.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static jmp_buf back;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sum(int count, ...) {
    va_list list;
    double all = 0;
    va_start(list, count);
    while (count-- > 0) all += va_arg(list, double);
    va_end(list);
    return all;
}

static void deep(int depth) {
    volatile char room[100];
    room[depth % 100] = (char)depth;
    if (depth == 50) longjmp(back, depth);
    deep(depth + 1);
}

int main(void) {
    setlocale(LC_ALL, "");
    printf("%d %u %x %o %c %s %5.2f|%-8s|%+08d|%e %g %a\n", -1, 2u, 255, 8, 'c', "text", 3.14159, "left", 42, 1e100,
           1e-5, 0.1);
    printf("%" PRId64 " %" PRIu64 " %zu %p %%\n", INT64_MIN, UINT64_MAX, sizeof(long double), (void *)0);
    printf("%.20Lf %Lg\n", 1.0L / 3, 1e300L * 1e300L);
    printf("%.17g %.17g %.17g\n", strtod("0.1", 0), strtod("1e-320", 0), strtod("inf", 0));
    printf("%ld %lu\n", strtol("-0x7f", 0, 16), strtoul("777", 0, 8));

    double values[1000];
    unsigned seed = 1;
    for (int i = 0; i < 1000; i++) {
        seed = seed * 1103515245u + 12345u;
        values[i] = sin((double)seed) * exp((double)(seed % 13));
    }
    qsort(values, 1000, sizeof *values, by_value);
    for (int i = 0; i < 1000; i += 111) printf("%.12g ", values[i]);
    double *found = bsearch(&values[500], values, 1000, sizeof *values, by_value);
    printf("\n%d %.15g\n", (int)(found - values), sum(4, 1.5, 2.25, -0.125, 1e10));

    printf("%.15g %.15g %.15g %.15g\n", pow(2, 0.5), atan2(1, 2), fmod(10, 3.3), cbrt(27));
    printf("%.9g %.9g %.9g\n", sqrtf(2), expf(1), fmaf(3, 4, 5));
    printf("%ld %ld %.0f %.0f\n", lround(2.5), lrint(2.5), floor(-2.5), nearbyint(3.5));

    int depth = setjmp(back);
    if (depth == 0) deep(0);
    printf("back from %d\n", depth);

    char *all = NULL;
    size_t len = 0;
    for (int i = 0; i < 2000; i++) {
        char part[32];
        int count = snprintf(part, sizeof part, "%d,", i * i);
        all = realloc(all, len + (size_t)count + 1);
        memcpy(all + len, part, (size_t)count + 1);
        len += (size_t)count;
    }
    unsigned hash = 0;
    for (char *at = strtok(all, ","); at; at = strtok(NULL, ",")) hash = hash * 31 + (unsigned)atoi(at);
    printf("%zu %u\n", len, hash);
    free(all);

    wchar_t wide[16];
    printf("%d %d\n", (int)mbstowcs(wide, "wide", 16), toupper('x'));
    char *copy = strdup("one two  three");
    for (char *at = copy, *word; (word = strsep(&at, " "));) printf("[%s]", word);
    printf("\n");
    free(copy);
    return 7;
}
