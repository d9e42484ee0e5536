// Every floating-point instruction of F and D on the values where they are hard, in each rounding mode, with the flags.
// One line for each instruction: where a machine is wrong, the line says in what.
#include "runtime/runtime.h"

typedef u64 (*operation)(u64 x, u64 y, u64 z);

// An instruction on ft0, ft1 and ft2, given as the bits of whole registers: singles are boxed, or wrongly boxed, by us.
#define INSTRUCTION(name, text)                                                                                             \
    static u64 name(u64 x, u64 y, u64 z)                                                                                   \
    {                                                                                                                      \
        u64 result;                                                                                                        \
        __asm__ volatile("fmv.d.x ft0, %1\nfmv.d.x ft1, %2\nfmv.d.x ft2, %3\n" text                                        \
                         : "=&r"(result)                                                                                   \
                         : "r"(x), "r"(y), "r"(z)                                                                          \
                         : "ft0", "ft1", "ft2", "ft3", "memory");                                                          \
        return result;                                                                                                     \
    }
// The result is a float register, or an integer register.
#define TO_FLOAT(name, text) INSTRUCTION(name, text "\nfmv.x.d %0, ft3")
#define TO_INTEGER(name, text) INSTRUCTION(name, text)

#define WIDTH(w)                                                                                                            \
    TO_FLOAT(add_##w, "fadd." #w " ft3, ft0, ft1")                                                                         \
    TO_FLOAT(sub_##w, "fsub." #w " ft3, ft0, ft1")                                                                         \
    TO_FLOAT(mul_##w, "fmul." #w " ft3, ft0, ft1")                                                                         \
    TO_FLOAT(div_##w, "fdiv." #w " ft3, ft0, ft1")                                                                         \
    TO_FLOAT(add_up_##w, "fadd." #w " ft3, ft0, ft1, rup")                                                                 \
    TO_FLOAT(mul_zero_##w, "fmul." #w " ft3, ft0, ft1, rtz")                                                               \
    TO_FLOAT(min_##w, "fmin." #w " ft3, ft0, ft1")                                                                         \
    TO_FLOAT(max_##w, "fmax." #w " ft3, ft0, ft1")                                                                         \
    TO_FLOAT(sign_##w, "fsgnj." #w " ft3, ft0, ft1")                                                                       \
    TO_FLOAT(sign_not_##w, "fsgnjn." #w " ft3, ft0, ft1")                                                                  \
    TO_FLOAT(sign_xor_##w, "fsgnjx." #w " ft3, ft0, ft1")                                                                  \
    TO_INTEGER(equal_##w, "feq." #w " %0, ft0, ft1")                                                                       \
    TO_INTEGER(less_##w, "flt." #w " %0, ft0, ft1")                                                                        \
    TO_INTEGER(less_equal_##w, "fle." #w " %0, ft0, ft1")                                                                  \
    TO_FLOAT(sqrt_##w, "fsqrt." #w " ft3, ft0")                                                                            \
    TO_INTEGER(class_##w, "fclass." #w " %0, ft0")                                                                         \
    TO_INTEGER(to_i32_##w, "fcvt.w." #w " %0, ft0")                                                                        \
    TO_INTEGER(to_u32_##w, "fcvt.wu." #w " %0, ft0")                                                                       \
    TO_INTEGER(to_i64_##w, "fcvt.l." #w " %0, ft0")                                                                        \
    TO_INTEGER(to_u64_##w, "fcvt.lu." #w " %0, ft0")                                                                       \
    TO_INTEGER(to_i64_zero_##w, "fcvt.l." #w " %0, ft0, rtz")                                                              \
    TO_FLOAT(from_i32_##w, "fcvt." #w ".w ft3, %1")                                                                        \
    TO_FLOAT(from_u32_##w, "fcvt." #w ".wu ft3, %1")                                                                       \
    TO_FLOAT(from_i64_##w, "fcvt." #w ".l ft3, %1")                                                                        \
    TO_FLOAT(from_u64_##w, "fcvt." #w ".lu ft3, %1")                                                                       \
    TO_FLOAT(madd_##w, "fmadd." #w " ft3, ft0, ft1, ft2")                                                                  \
    TO_FLOAT(msub_##w, "fmsub." #w " ft3, ft0, ft1, ft2")                                                                  \
    TO_FLOAT(nmsub_##w, "fnmsub." #w " ft3, ft0, ft1, ft2")                                                                \
    TO_FLOAT(nmadd_##w, "fnmadd." #w " ft3, ft0, ft1, ft2")

WIDTH(s)
WIDTH(d)
TO_FLOAT(to_double, "fcvt.d.s ft3, ft0")
TO_FLOAT(to_single, "fcvt.s.d ft3, ft0")
TO_INTEGER(bits_of_single, "fmv.x.w %0, ft0")
TO_FLOAT(single_of_bits, "fmv.w.x ft3, %1")

static const struct {
    const char *name;
    operation single, twice; // twice: on doubles.
    int operands;
} operations[] = {
#define BOTH(name, operands) {#name, name##_s, name##_d, operands}
    BOTH(add, 2),         BOTH(sub, 2),      BOTH(mul, 2),      BOTH(div, 2),      BOTH(add_up, 2),     BOTH(mul_zero, 2),
    BOTH(min, 2),         BOTH(max, 2),      BOTH(sign, 2),     BOTH(sign_not, 2), BOTH(sign_xor, 2),   BOTH(equal, 2),
    BOTH(less, 2),        BOTH(less_equal, 2), BOTH(sqrt, 1),   BOTH(class, 1),    BOTH(to_i32, 1),     BOTH(to_u32, 1),
    BOTH(to_i64, 1),      BOTH(to_u64, 1),   BOTH(to_i64_zero, 1), BOTH(from_i32, 1), BOTH(from_u32, 1), BOTH(from_i64, 1),
    BOTH(from_u64, 1),    BOTH(madd, 3),     BOTH(msub, 3),     BOTH(nmsub, 3),    BOTH(nmadd, 3),
    {"other_width", to_double, to_single, 1},
    {"bits", bits_of_single, single_of_bits, 1},
};

#define BOXED(bits) (0xffffffff00000000u | (bits))
static const u64 singles[] = {
    BOXED(0x00000000u), // 0
    BOXED(0x80000000u), // -0
    BOXED(0x00000001u), // smallest subnormal
    BOXED(0x807fffffu), // minus the largest subnormal
    BOXED(0x00800000u), // smallest normal
    BOXED(0x3f800000u), // 1
    BOXED(0xbf800001u), // just below -1
    BOXED(0x3effffffu), // just below 1/2
    BOXED(0x40200000u), // 2.5: a tie
    BOXED(0x4effffffu), // just below 2^31
    BOXED(0xdf000000u), // -2^63
    BOXED(0x7f7fffffu), // largest
    BOXED(0xff800000u), // -infinity
    BOXED(0x7fc12345u), // quiet NaN
    BOXED(0x7f800001u), // signalling NaN
    0x3f8000003f800000u, // not boxed: counts as a NaN
};
static const u64 doubles[] = {
    0x0000000000000000u, // 0
    0x8000000000000000u, // -0
    0x0000000000000001u, // smallest subnormal
    0x800fffffffffffffu, // minus the largest subnormal
    0x0010000000000000u, // smallest normal
    0x3ff0000000000000u, // 1
    0xbff0000000000001u, // just below -1
    0x3fdfffffffffffffu, // just below 1/2
    0x4004000000000000u, // 2.5: a tie
    0x41dfffffffe00000u, // 2^31 - 1/2
    0xc3e0000000000000u, // -2^63
    0x380fffffe0000000u, // subnormal as a single
    0x7fefffffffffffffu, // largest
    0xfff0000000000000u, // -infinity
    0x7ff8000012345678u, // quiet NaN
    0x7ff0000000000001u, // signalling NaN
};

static u32 all_flags;

static u32 try(operation run, const u64 *values, int operands)
{
    enum { VALUES = COUNT(singles) };
    _Static_assert(COUNT(singles) == COUNT(doubles), "as many of both");
    u32 checksum = CHECKSUM_START;
    int second = operands > 1 ? VALUES : 1;
    for (long mode = 0; mode < 5; mode++)
        for (int i = 0; i < VALUES; i++)
            for (int j = 0; j < second; j++)
                // Not every third value: some are enough, and others for each pair.
                for (int k = operands > 2 ? (i + j) % 5 : 0; k < (operands > 2 ? VALUES : 1); k += 5) {
                    u64 flags;
                    __asm__ volatile("fsrm %0\nfsflags zero" ::"r"(mode));
                    u64 result = run(values[i], values[j], values[k]);
                    __asm__ volatile("frflags %0" : "=r"(flags));
                    checksum = mix(mix(checksum, result), flags);
                    all_flags |= 1u << flags;
                }
    __asm__ volatile("fscsr zero");
    return checksum;
}

int main(void)
{
    u32 checksum = CHECKSUM_START;
    for (size i = 0; i < COUNT(operations); i++) {
        u32 s = try(operations[i].single, singles, operations[i].operands);
        u32 d = try(operations[i].twice, doubles, operations[i].operands);
        print_string(operations[i].name);
        print_string(": single ");
        print_hex(s, 8);
        print_string(", double ");
        print_hex(d, 8);
        print_string("\n");
        checksum = mix(mix(checksum, s), d);
    }
    // Which of the 32 sets of flags came up.
    print_string("sets of flags: ");
    print_hex(all_flags, 8);
    print_string("\n");
    print_checksum("floats", mix(checksum, all_flags));
    return 0;
}
