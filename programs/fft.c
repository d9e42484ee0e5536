// A Fourier transform of complex doubles and its inverse: what comes back must be what went in.
// Argument: the base-2 logarithm of the length.
#include "runtime/runtime.h"

enum { MOST_BITS = 16 };
typedef struct {
    double re, im;
} complex;
static complex signal[1 << MOST_BITS], data[1 << MOST_BITS], turns[1 << (MOST_BITS - 1)];

// cos and sin by their series: the angles are between 0 and pi, 16 terms of each are more than enough.
static complex unit(double angle)
{
    complex result = {1, angle};
    double cosine = 1, sine = angle, square = angle * angle;
    for (int i = 1; i < 16; i++) {
        cosine *= -square / ((2 * i - 1) * (2 * i));
        sine *= -square / ((2 * i) * (2 * i + 1));
        result.re += cosine;
        result.im += sine;
    }
    return result;
}

static void transform(complex *a, int bits, double sign)
{
    long count = 1l << bits;
    // Each element goes to the place with its index's bits in reverse.
    for (long i = 0, j = 0; i < count; i++) {
        if (i < j) {
            complex kept = a[i];
            a[i] = a[j];
            a[j] = kept;
        }
        long bit = count >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j |= bit;
    }
    for (long half = 1; half < count; half *= 2) {
        long stride = count / (2 * half);
        for (long at = 0; at < count; at += 2 * half) {
            for (long k = 0; k < half; k++) {
                complex turn = turns[k * stride], *x = &a[at + k], *y = x + half;
                turn.im *= sign;
                complex product = {y->re * turn.re - y->im * turn.im, y->re * turn.im + y->im * turn.re};
                y->re = x->re - product.re;
                y->im = x->im - product.im;
                x->re += product.re;
                x->im += product.im;
            }
        }
    }
}

static u32 mix_bits(u32 checksum, double value)
{
    u64 bits;
    memcpy(&bits, &value, 8);
    return mix(checksum, bits);
}

int main(int argc, char **argv)
{
    long bits = argc > 1 ? parse_decimal(argv[1]) : 13;
    if (bits < 1 || bits > MOST_BITS)
        return 2;
    long count = 1l << bits;
    for (long i = 0; i < count / 2; i++)
        turns[i] = unit(2 * 3.14159265358979323846 * (double)i / (double)count);
    u64 random = 3;
    for (long i = 0; i < count; i++) {
        signal[i].re = (double)(i32)next_random(&random) / 2147483648.0;
        signal[i].im = (double)(i32)next_random(&random) / 2147483648.0;
    }
    memcpy(data, signal, (size)count * sizeof *data);
    transform(data, (int)bits, -1);
    u32 checksum = CHECKSUM_START;
    double energy = 0, spectrum = 0, worst = 0;
    for (long i = 0; i < count; i++) {
        energy += signal[i].re * signal[i].re + signal[i].im * signal[i].im;
        spectrum += data[i].re * data[i].re + data[i].im * data[i].im;
        checksum = mix_bits(mix_bits(checksum, data[i].re), data[i].im);
    }
    transform(data, (int)bits, 1);
    for (long i = 0; i < count; i++) {
        double re = data[i].re / (double)count - signal[i].re, im = data[i].im / (double)count - signal[i].im;
        double error = __builtin_sqrt(re * re + im * im);
        if (error > worst)
            worst = error;
        checksum = mix_bits(checksum, error);
    }
    print_string("points ");
    print_decimal(count);
    print_string(", energy ");
    print_double(energy, 6);
    print_string(", of the spectrum ");
    print_double(spectrum / (double)count, 6);
    print_string("\nlargest error ");
    print_double(worst * 1e15, 3);
    print_string("e-15\n");
    print_checksum("fft", checksum);
    return worst < 1e-12 ? 0 : 1;
}
