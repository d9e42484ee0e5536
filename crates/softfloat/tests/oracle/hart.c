// Runs every operation of the F and D extensions in every rounding mode, on a hart or an emulator. Reads records of
// operands, and writes the result and the flags of each operation. It uses no library: it starts at _start, and has
// three system calls.

typedef unsigned long u64;
typedef unsigned int u32;

struct record {
    u64 a, b, c; // doubles
    u64 integer;
    u32 x, y, z, padding; // singles
};

struct answer {
    u64 result, flags;
};

static long system_call(long number, long a, void *b, u64 c) {
    register long a0 __asm__("a0") = a;
    register void *a1 __asm__("a1") = b;
    register u64 a2 __asm__("a2") = c;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}

static void leave(long status) {
    system_call(93, status, 0, 0);
    __builtin_unreachable();
}

// Reads whole records only. Returns 0 at the end of input.
static int get(char *at, u64 size) {
    u64 have = 0;
    while (have < size) {
        long n = system_call(63, 0, at + have, size - have);
        if (n <= 0)
            leave(have == 0 && n == 0 ? 0 : 1);
        have += n;
    }
    return 1;
}

static void put(char *at, u64 size) {
    while (size > 0) {
        long n = system_call(64, 1, at, size);
        if (n <= 0)
            leave(1);
        at += n;
        size -= n;
    }
}

static struct answer answers[1024];
static struct answer *next;

// Runs one instruction, with operands in ft0 to ft2 (an integer in t0) and its result in ft3 or t1.
#define DO(move_a, a, move_b, b, move_c, c, instruction, store, mask)                                            \
    do {                                                                                                               \
        u64 result, flags;                                                                                             \
        __asm__ volatile(move_a " ft0, %2\n" move_b " ft1, %3\n" move_c " ft2, %4\n mv t0, %5\n"                       \
                         "fsflags x0\n" instruction "\n"                                                               \
                         "frflags %1\n" store                                                                          \
                         : "=&r"(result), "=&r"(flags)                                                                 \
                         : "r"((u64)(a)), "r"((u64)(b)), "r"((u64)(c)), "r"(r->integer)                                \
                         : "ft0", "ft1", "ft2", "ft3", "t0", "t1");                                                    \
        next->result = result & (mask);                                                                                \
        next->flags = flags;                                                                                           \
        next++;                                                                                                        \
    } while (0)

#define SINGLES(instruction, store, mask)                                                                              \
    DO("fmv.w.x", r->x, "fmv.w.x", r->y, "fmv.w.x", r->z, instruction, store, mask)
#define DOUBLES(instruction, store, mask)                                                                              \
    DO("fmv.d.x", r->a, "fmv.d.x", r->b, "fmv.d.x", r->c, instruction, store, mask)
#define TO_S "fmv.x.w %0, ft3\n"
#define TO_D "fmv.x.d %0, ft3\n"
#define TO_X "mv %0, t1\n"
#define LOW 0xffffffffUL
#define ALL (~0UL)

// The order is that of `operations` in ../it/operations/mod.rs.
#define COMMON(RUN, S, TO_F, MASK)                                                                                     \
    RUN("fadd." S " ft3, ft0, ft1", TO_F, MASK);                                                                       \
    RUN("fsub." S " ft3, ft0, ft1", TO_F, MASK);                                                                       \
    RUN("fmul." S " ft3, ft0, ft1", TO_F, MASK);                                                                       \
    RUN("fdiv." S " ft3, ft0, ft1", TO_F, MASK);                                                                       \
    RUN("fsqrt." S " ft3, ft0", TO_F, MASK);                                                                           \
    RUN("fmadd." S " ft3, ft0, ft1, ft2", TO_F, MASK);                                                                 \
    RUN("fmsub." S " ft3, ft0, ft1, ft2", TO_F, MASK);                                                                 \
    RUN("fnmsub." S " ft3, ft0, ft1, ft2", TO_F, MASK);                                                                \
    RUN("fnmadd." S " ft3, ft0, ft1, ft2", TO_F, MASK);                                                                \
    RUN("fmin." S " ft3, ft0, ft1", TO_F, MASK);                                                                       \
    RUN("fmax." S " ft3, ft0, ft1", TO_F, MASK);                                                                       \
    RUN("feq." S " t1, ft0, ft1", TO_X, ALL);                                                                          \
    RUN("flt." S " t1, ft0, ft1", TO_X, ALL);                                                                          \
    RUN("fle." S " t1, ft0, ft1", TO_X, ALL);                                                                          \
    RUN("fclass." S " t1, ft0", TO_X, ALL);                                                                            \
    RUN("fcvt.w." S " t1, ft0", TO_X, LOW);                                                                            \
    RUN("fcvt.wu." S " t1, ft0", TO_X, LOW);                                                                           \
    RUN("fcvt.l." S " t1, ft0", TO_X, ALL);                                                                            \
    RUN("fcvt.lu." S " t1, ft0", TO_X, ALL);                                                                           \
    RUN("fcvt." S ".w ft3, t0", TO_F, MASK);                                                                           \
    RUN("fcvt." S ".wu ft3, t0", TO_F, MASK);                                                                          \
    RUN("fcvt." S ".l ft3, t0", TO_F, MASK);                                                                           \
    RUN("fcvt." S ".lu ft3, t0", TO_F, MASK)

void _start(void) {
    static struct record record;
    while (get((char *)&record, sizeof record)) {
        const struct record *r = &record;
        next = answers;
        for (u64 mode = 0; mode < 5; mode++) {
            __asm__ volatile("fsrm %0" : : "r"(mode));
            COMMON(SINGLES, "s", TO_S, LOW);
            SINGLES("fcvt.d.s ft3, ft0", TO_D, ALL);
            COMMON(DOUBLES, "d", TO_D, ALL);
            DOUBLES("fcvt.s.d ft3, ft0", TO_S, LOW);
        }
        put((char *)answers, (char *)next - (char *)answers);
    }
    leave(0);
}
