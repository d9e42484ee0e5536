// Matrix products of integers and of doubles, plain and by blocks: both ways must give the same bits.
// Argument: the number of rows.
#include "runtime/runtime.h"

enum { MOST = 256, BLOCK = 16 };
static i32 ia[MOST][MOST], ib[MOST][MOST], ic[MOST][MOST], id[MOST][MOST];
static double da[MOST][MOST], db[MOST][MOST], dc[MOST][MOST], dd[MOST][MOST];

// One text for both types. The blocked loops add in the same order, so that even rounding is the same.
#define PRODUCTS(type, name)                                                                                                \
    static void name##_plain(type (*a)[MOST], type (*b)[MOST], type (*c)[MOST], long n)                                    \
    {                                                                                                                      \
        for (long i = 0; i < n; i++)                                                                                       \
            for (long j = 0; j < n; j++) {                                                                                 \
                type sum = 0;                                                                                              \
                for (long k = 0; k < n; k++)                                                                               \
                    sum += a[i][k] * b[k][j];                                                                              \
                c[i][j] = sum;                                                                                             \
            }                                                                                                              \
    }                                                                                                                      \
    static void name##_blocked(type (*a)[MOST], type (*b)[MOST], type (*c)[MOST], long n)                                  \
    {                                                                                                                      \
        for (long jj = 0; jj < n; jj += BLOCK)                                                                             \
            for (long kk = 0; kk < n; kk += BLOCK)                                                                         \
                for (long i = 0; i < n; i++)                                                                               \
                    for (long k = kk; k < kk + BLOCK && k < n; k++)                                                        \
                        for (long j = jj; j < jj + BLOCK && j < n; j++)                                                    \
                            c[i][j] += a[i][k] * b[k][j];                                                                  \
    }

PRODUCTS(i32, integers)
PRODUCTS(double, doubles)

int main(int argc, char **argv)
{
    long n = argc > 1 ? parse_decimal(argv[1]) : 72;
    if (n < 1 || n > MOST)
        return 2;
    u64 random = 5;
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            ia[i][j] = (i32)(next_random(&random) >> 50) - 8192;
            ib[i][j] = (i32)(next_random(&random) >> 50) - 8192;
            da[i][j] = (double)ia[i][j] / 1000;
            db[i][j] = (double)ib[i][j] / 1000;
        }
    integers_plain(ia, ib, ic, n);
    integers_blocked(ia, ib, id, n);
    doubles_plain(da, db, dc, n);
    doubles_blocked(da, db, dd, n);
    u32 checksum = CHECKSUM_START;
    i64 integer_trace = 0;
    double double_trace = 0;
    for (long i = 0; i < n; i++) {
        integer_trace += ic[i][i];
        double_trace += dc[i][i];
        if (memcmp(ic[i], id[i], (size)n * sizeof ic[0][0]) || memcmp(dc[i], dd[i], (size)n * sizeof dc[0][0]))
            return 1;
        for (long j = 0; j < n; j++) {
            u64 bits;
            memcpy(&bits, &dc[i][j], 8);
            checksum = mix(mix(checksum, (u64)ic[i][j]), bits);
        }
    }
    print_string("rows ");
    print_decimal(n);
    print_string(", trace of integers ");
    print_decimal((long)integer_trace);
    print_string(", of doubles ");
    print_double(double_trace, 6);
    print_string("\n");
    print_checksum("matrix", checksum);
    return 0;
}
