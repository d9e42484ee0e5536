// Load-reserved, store-conditional and every atomic memory operation, of words and of double words, in each ordering.
#include "runtime/runtime.h"

static u32 checksum = CHECKSUM_START;

// An operation is tried on each pair of values and compared with what C does.
#define TRY(type, instruction, expected)                                                                                    \
    do {                                                                                                                   \
        type memory = (type)old, got;                                                                                      \
        type a = (type)old, b = (type)operand;                                                                             \
        __asm__ volatile(instruction " %0, %2, %1" : "=r"(got), "+A"(memory) : "r"(b) : "memory");                         \
        if (got != a || memory != (type)(expected))                                                                        \
            exit(1);                                                                                                       \
        checksum = mix(mix(checksum, (u64)got), (u64)memory);                                                              \
    } while (0)

#define TRY_ALL(signed_type, unsigned_type, width, order)                                                                   \
    do {                                                                                                                   \
        TRY(signed_type, "amoswap." width order, b);                                                                       \
        TRY(signed_type, "amoadd." width order, (unsigned_type)a + (unsigned_type)b);                                      \
        TRY(signed_type, "amoxor." width order, a ^ b);                                                                    \
        TRY(signed_type, "amoand." width order, a & b);                                                                    \
        TRY(signed_type, "amoor." width order, a | b);                                                                     \
        TRY(signed_type, "amomin." width order, a < b ? a : b);                                                            \
        TRY(signed_type, "amomax." width order, a > b ? a : b);                                                            \
        TRY(signed_type, "amominu." width order, (unsigned_type)a < (unsigned_type)b ? a : b);                             \
        TRY(signed_type, "amomaxu." width order, (unsigned_type)a > (unsigned_type)b ? a : b);                             \
    } while (0)

static void try_operations(u64 old, u64 operand)
{
    TRY_ALL(i32, u32, "w", "");
    TRY_ALL(i32, u32, "w", ".aqrl");
    TRY_ALL(i64, u64, "d", "");
    TRY_ALL(i64, u64, "d", ".aq");
    TRY_ALL(i64, u64, "d", ".rl");
}

// The usual loop, by hand: a store-conditional may fail at any time, so it is tried again.
static u32 add_by_reservation(u32 *memory, u32 operand)
{
    u32 old, scratch;
    __asm__ volatile("0: lr.w.aq %0, %2\n"
                     "addw %1, %0, %3\n"
                     "sc.w.rl %1, %1, %2\n"
                     "bnez %1, 0b"
                     : "=&r"(old), "=&r"(scratch), "+A"(*memory)
                     : "r"(operand)
                     : "memory");
    return old;
}

static u64 swap_by_reservation(u64 *memory, u64 value)
{
    u64 old, failed;
    __asm__ volatile("0: lr.d %0, %2\n"
                     "sc.d %1, %3, %2\n"
                     "bnez %1, 0b"
                     : "=&r"(old), "=&r"(failed), "+A"(*memory)
                     : "r"(value)
                     : "memory");
    return old;
}

// A store-conditional uses up the reservation, whatever becomes of it: a second one must fail and write nothing.
static void second_store_fails(void)
{
    u64 memory = 1, first, second;
    __asm__ volatile("lr.d %0, %2\n"
                     "sc.d %0, %3, %2\n"
                     "sc.d %1, %4, %2"
                     : "=&r"(first), "=&r"(second), "+A"(memory)
                     : "r"(2l), "r"(3l)
                     : "memory");
    if (second == 0 || memory != (first ? 1 : 2))
        exit(1);
    print_string("second store-conditional fails: yes\n");
}

// The compiler's own use of the same instructions.
static u32 lock, counter;

static void locked_add(u32 value)
{
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
        ;
    counter += value;
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    __asm__ volatile("fence rw, rw\nfence.tso" ::: "memory");
}

int main(void)
{
    static const u64 edges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, ~0ull, 0x123456789abcdef0};
    for (size i = 0; i < COUNT(edges); i++)
        for (size j = 0; j < COUNT(edges); j++)
            try_operations(edges[i], edges[j]);
    u64 random = 8, wide = 0;
    u32 sum = 0, expected = 0;
    for (int i = 0; i < 100; i++) {
        u64 value = next_random(&random);
        try_operations(value, next_random(&random));
        if (add_by_reservation(&sum, (u32)value) != expected)
            return 1;
        expected += (u32)value;
        u64 before = wide;
        if (swap_by_reservation(&wide, value) != before)
            return 1;
        locked_add((u32)value);
    }
    if (sum != expected || counter != expected)
        return 1;
    second_store_fails();
    print_string("sum by reservations: ");
    print_hex(sum, 8);
    print_string("\n");
    print_checksum("atomics", mix(mix(checksum, sum), wide));
    return 0;
}
