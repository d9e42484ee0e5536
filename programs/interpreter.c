// An interpreter of a small stack machine; its loop is one switch, which the compiler makes a jump through a table.
// It runs a prime sieve and the Collatz sequences. Argument: the limit of both.
#include "runtime/runtime.h"

enum operation { PUSH, LOAD, STORE, FETCH, PUT, ADD, SUB, MUL, DIV, MOD, LESS, EQUAL, NOT, JUMP, JUMP_IF_ZERO, DUP, PRINT, HALT };

enum { MOST = 1 << 16 };
static i32 memory[MOST];
static i32 variables[8];
static u64 steps;

static u32 run(const i32 *code, u32 checksum)
{
    i32 stack[32], *top = stack; // top: the next free place.
    const i32 *at = code;
    for (;;) {
        steps++;
        switch ((enum operation)*at++) {
        case PUSH: *top++ = *at++; break;
        case LOAD: *top++ = variables[*at++]; break;
        case STORE: variables[*at++] = *--top; break;
        case FETCH: top[-1] = memory[top[-1]]; break;
        case PUT: // Value, then address.
            top -= 2;
            memory[top[1]] = top[0];
            break;
        case ADD: top--; top[-1] += top[0]; break;
        case SUB: top--; top[-1] -= top[0]; break;
        case MUL: top--; top[-1] *= top[0]; break;
        case DIV: top--; top[-1] /= top[0]; break;
        case MOD: top--; top[-1] %= top[0]; break;
        case LESS: top--; top[-1] = top[-1] < top[0]; break;
        case EQUAL: top--; top[-1] = top[-1] == top[0]; break;
        case NOT: top[-1] = !top[-1]; break;
        case JUMP: at = code + *at; break;
        case JUMP_IF_ZERO: at = *--top ? at + 1 : code + *at; break;
        case DUP: *top = top[-1]; top++; break;
        case PRINT:
            checksum = mix(checksum, (u64)*--top);
            print_decimal(*top);
            print_string("\n");
            break;
        case HALT: return checksum;
        }
    }
}

// Programs are assembled when they start: a label is a number, and jumps to it are filled in at the end.
static i32 code[256];
static i32 labels[16];
static int length;

static void label(int name)
{
    labels[name] = length;
}

static void emit(enum operation operation)
{
    code[length++] = operation;
}

static void emit_with(enum operation operation, i32 operand)
{
    code[length++] = operation;
    code[length++] = operand;
}

static u32 assemble_and_run(u32 checksum)
{
    emit(HALT);
    for (int i = 0; i < length; i++) {
        enum operation operation = (enum operation)code[i];
        if (operation == JUMP || operation == JUMP_IF_ZERO)
            code[i + 1] = labels[code[i + 1]];
        i += operation <= STORE || operation == JUMP || operation == JUMP_IF_ZERO;
    }
    checksum = run(code, checksum);
    length = 0;
    return checksum;
}

// variable = variable + other, or + a number: common enough to have a name.
static void add_to(int variable, enum operation operation, i32 operand)
{
    emit_with(LOAD, variable);
    emit_with(operation, operand);
    emit(ADD);
    emit_with(STORE, variable);
}

static void unless_less_go(int a, int b, int name)
{
    emit_with(LOAD, a);
    emit_with(LOAD, b);
    emit(LESS);
    emit_with(JUMP_IF_ZERO, name);
}

enum { LIMIT, I, J, TOTAL, LONGEST };
enum { NEXT, CROSS, SKIP, END, STEP, EVEN, DONE };

// How many primes are below the limit.
static void sieve(void)
{
    emit_with(PUSH, 2);
    emit_with(STORE, I);
    emit_with(PUSH, 0);
    emit_with(STORE, TOTAL);
    label(NEXT);
    unless_less_go(I, LIMIT, END);
    emit_with(LOAD, I);
    emit(FETCH);
    emit(NOT);
    emit_with(JUMP_IF_ZERO, SKIP);
    add_to(TOTAL, PUSH, 1);
    emit_with(LOAD, I);
    emit(DUP);
    emit(ADD);
    emit_with(STORE, J);
    label(CROSS);
    unless_less_go(J, LIMIT, SKIP);
    emit_with(PUSH, 1);
    emit_with(LOAD, J);
    emit(PUT);
    add_to(J, LOAD, I);
    emit_with(JUMP, CROSS);
    label(SKIP);
    add_to(I, PUSH, 1);
    emit_with(JUMP, NEXT);
    label(END);
    emit_with(LOAD, TOTAL);
    emit(PRINT);
}

// The longest Collatz sequence from a start below a tenth of the limit.
static void collatz(void)
{
    emit_with(LOAD, LIMIT);
    emit_with(PUSH, 10);
    emit(DIV);
    emit_with(STORE, LIMIT);
    emit_with(PUSH, 1);
    emit_with(STORE, I);
    emit_with(PUSH, 0);
    emit_with(STORE, LONGEST);
    label(NEXT);
    unless_less_go(I, LIMIT, END);
    emit_with(LOAD, I);
    emit_with(STORE, J);
    emit_with(PUSH, 0);
    emit_with(STORE, TOTAL);
    label(STEP);
    emit_with(LOAD, J);
    emit_with(PUSH, 1);
    emit(EQUAL);
    emit(NOT);
    emit_with(JUMP_IF_ZERO, DONE);
    add_to(TOTAL, PUSH, 1);
    emit_with(LOAD, J);
    emit_with(PUSH, 2);
    emit(MOD);
    emit_with(JUMP_IF_ZERO, EVEN);
    emit_with(LOAD, J);
    emit_with(PUSH, 3);
    emit(MUL);
    emit_with(PUSH, 1);
    emit(ADD);
    emit_with(STORE, J);
    emit_with(JUMP, STEP);
    label(EVEN);
    emit_with(LOAD, J);
    emit_with(PUSH, 2);
    emit(DIV);
    emit_with(STORE, J);
    emit_with(JUMP, STEP);
    label(DONE);
    unless_less_go(LONGEST, TOTAL, SKIP);
    emit_with(LOAD, TOTAL);
    emit_with(STORE, LONGEST);
    label(SKIP);
    add_to(I, PUSH, 1);
    emit_with(JUMP, NEXT);
    label(END);
    emit_with(LOAD, LONGEST);
    emit(PRINT);
}

int main(int argc, char **argv)
{
    long limit = argc > 1 ? parse_decimal(argv[1]) : 10000;
    if (limit < 20 || limit > MOST)
        return 2;
    variables[LIMIT] = (i32)limit;
    u32 checksum = CHECKSUM_START;
    print_string("primes: ");
    sieve();
    checksum = assemble_and_run(checksum);
    print_string("longest sequence: ");
    collatz();
    checksum = assemble_and_run(checksum);
    print_string("steps: ");
    print_decimal((long)steps);
    print_string("\n");
    print_checksum("interpreter", mix(checksum, steps));
    return 0;
}
