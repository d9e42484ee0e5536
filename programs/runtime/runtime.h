// What every program here may call. Nothing below it: no C library, no compiler library.
#pragma once
#include "types.h"

// Output is kept until the end of a line, so that a line is one system call.
void print_string(const char *text);
void print_decimal(long value);
void print_hex(u64 value, int digits);
void print_double(double value, int places);
void print_flush(void);

// The last line of a program: "NAME: checksum 0x........".
void print_checksum(const char *name, u32 checksum);

// Where output goes: a system call, or the host interface of a bare machine.
void output(const char *text, size length);

void exit(int status) __attribute__((noreturn));

// The compiler may call the first three by itself.
void *memcpy(void *to, const void *from, size length);
void *memset(void *to, int value, size length);
int memcmp(const void *a, const void *b, size length);
size length_of(const char *text);
long parse_decimal(const char *text);

// One step of a checksum (FNV-1a, by bytes).
u32 mix(u32 checksum, u64 value);
#define CHECKSUM_START 0x811c9dc5u

// Xorshift: the same numbers on every machine. The state must not be zero.
u64 next_random(u64 *state);

// The registers that a called function must keep: ra, sp, s0 to s11, fs0 to fs11.
typedef struct {
    u64 registers[26];
} jump_buffer;
int set_jump(jump_buffer *buffer) __attribute__((returns_twice));
void long_jump(jump_buffer *buffer, int value) __attribute__((noreturn));
