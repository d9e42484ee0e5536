// Three ways to find a string in a generated text; each must find the same places.
// Argument: the length of the text.
#include "runtime/runtime.h"

enum { MOST = 1 << 20, LONGEST = 64 };
static char text[MOST];
typedef struct {
    long count;
    u32 places;
} found;

static void note(found *f, long place)
{
    f->count++;
    f->places = f->places * 31 + (u32)place;
}

static found naive(const char *what, long length, long end)
{
    found f = {0, 0};
    for (long at = 0; at + length <= end; at++) {
        long i = 0;
        while (i < length && text[at + i] == what[i])
            i++;
        if (i == length)
            note(&f, at);
    }
    return f;
}

static found knuth_morris_pratt(const char *what, long length, long end)
{
    // border[i]: the longest proper prefix of the first i + 1 letters that is their suffix too.
    long border[LONGEST];
    border[0] = 0;
    for (long i = 1, k = 0; i < length; i++) {
        while (k && what[i] != what[k])
            k = border[k - 1];
        k += what[i] == what[k];
        border[i] = k;
    }
    found f = {0, 0};
    for (long at = 0, k = 0; at < end; at++) {
        while (k && text[at] != what[k])
            k = border[k - 1];
        k += text[at] == what[k];
        if (k == length) {
            note(&f, at + 1 - length);
            k = border[k - 1];
        }
    }
    return f;
}

static found horspool(const char *what, long length, long end)
{
    long skip[256];
    for (int i = 0; i < 256; i++)
        skip[i] = length;
    for (long i = 0; i + 1 < length; i++)
        skip[(u8)what[i]] = length - 1 - i;
    found f = {0, 0};
    for (long at = 0; at + length <= end; at += skip[(u8)text[at + length - 1]]) {
        long i = length - 1;
        while (i >= 0 && text[at + i] == what[i])
            i--;
        if (i < 0)
            note(&f, at);
    }
    return f;
}

int main(int argc, char **argv)
{
    long end = argc > 1 ? parse_decimal(argv[1]) : 100000;
    if (end < 1000 || end > MOST)
        return 2;
    u64 random = 4;
    for (long i = 0; i < end; i++)
        text[i] = "acgt"[next_random(&random) >> 40 & 3];
    // Some that are there by chance, one that is a piece of the text, one that repeats itself, one that is not there.
    static const char *fixed[] = {"ta", "gatt", "acgtacg", "aaaaa", "tttttttttttttttttttttttttttttt"};
    char piece[41];
    memcpy(piece, text + end / 2, 40);
    piece[40] = 0;
    u32 checksum = CHECKSUM_START;
    for (size i = 0; i <= COUNT(fixed); i++) {
        const char *what = i < COUNT(fixed) ? fixed[i] : piece;
        long length = (long)length_of(what);
        found a = naive(what, length, end), b = knuth_morris_pratt(what, length, end), c = horspool(what, length, end);
        if (a.count != b.count || a.count != c.count || a.places != b.places || a.places != c.places)
            return 1;
        print_string(what);
        print_string(": ");
        print_decimal(a.count);
        print_string("\n");
        checksum = mix(mix(checksum, (u64)a.count), a.places);
    }
    print_checksum("search", checksum);
    return 0;
}
