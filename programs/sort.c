// Three ways to sort random numbers; each must end with the same order.
// Argument: how many numbers.
#include "runtime/runtime.h"

enum { MOST = 1 << 18 };
static u32 source[MOST], data[MOST];

static void insertion_sort(u32 *a, long count)
{
    for (long i = 1; i < count; i++) {
        u32 value = a[i];
        long j = i;
        for (; j > 0 && a[j - 1] > value; j--)
            a[j] = a[j - 1];
        a[j] = value;
    }
}

static void quick_sort(u32 *a, long count)
{
    while (count > 12) {
        u32 pivot = a[count / 2];
        long low = 0, high = count - 1;
        while (low <= high) {
            while (a[low] < pivot)
                low++;
            while (a[high] > pivot)
                high--;
            if (low <= high) {
                u32 value = a[low];
                a[low++] = a[high];
                a[high--] = value;
            }
        }
        // The smaller part by recursion: the stack stays small.
        if (high + 1 < count - low) {
            quick_sort(a, high + 1);
            a += low;
            count -= low;
        } else {
            quick_sort(a + low, count - low);
            count = high + 1;
        }
    }
    insertion_sort(a, count);
}

static void sift_down(u32 *a, long at, long count)
{
    u32 value = a[at];
    for (long child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && a[child + 1] > a[child])
            child++;
        if (a[child] <= value)
            break;
        a[at] = a[child];
    }
    a[at] = value;
}

static void heap_sort(u32 *a, long count)
{
    for (long i = count / 2; i-- > 0;)
        sift_down(a, i, count);
    for (long last = count - 1; last > 0; last--) {
        u32 value = a[0];
        a[0] = a[last];
        a[last] = value;
        sift_down(a, 0, last);
    }
}

static u32 try(const char *name, void (*sort)(u32 *, long), long count)
{
    memcpy(data, source, (size)count * sizeof *data);
    sort(data, count);
    u32 checksum = CHECKSUM_START;
    for (long i = 0; i < count; i++) {
        if (i && data[i - 1] > data[i])
            exit(1);
        checksum = mix(checksum, data[i]);
    }
    print_string(name);
    print_string(" sort of ");
    print_decimal(count);
    print_string(" numbers: ");
    print_hex(checksum, 8);
    print_string("\n");
    return checksum;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? parse_decimal(argv[1]) : 30000;
    if (count < 1 || count > MOST)
        return 2;
    u64 random = 1;
    for (long i = 0; i < count; i++)
        source[i] = (u32)next_random(&random);
    u32 quick = try("quick", quick_sort, count);
    u32 heap = try("heap", heap_sort, count);
    // Its time grows with the square: a part is enough.
    u32 insertion = try("insertion", insertion_sort, count < 1500 ? count : 1500);
    if (quick != heap)
        return 1;
    print_checksum("sort", mix(quick, insertion));
    return 0;
}
