// What programs for a bare machine have beyond runtime.h.
#pragma once
#include "runtime.h"

// All that a trap keeps (registers.h has the same for assembly). x[0] is the program counter.
typedef struct {
    word x[32];
    word status, cause, value;
} frame;
enum { PC = 0, RA = 1, SP = 2, GP = 3, A0 = 10, A1 = 11, A2 = 12, A7 = 17 };

// The program's own: what to do about a trap, and which frame goes on.
frame *machine_trap(frame *f);
frame *supervisor_trap(frame *f);
void supervisor_trap_entry(void);

#define READ_CSR(name)                                                                                                      \
    ({                                                                                                                     \
        word value_;                                                                                                       \
        __asm__ volatile("csrr %0, " #name : "=r"(value_)::"memory");                                                      \
        value_;                                                                                                            \
    })
#define WRITE_CSR(name, value) __asm__ volatile("csrw " #name ", %0" ::"r"((word)(value)) : "memory")
#define SET_CSR(name, bits) __asm__ volatile("csrs " #name ", %0" ::"r"((word)(bits)) : "memory")
#define CLEAR_CSR(name, bits) __asm__ volatile("csrc " #name ", %0" ::"r"((word)(bits)) : "memory")

#define INTERRUPT ((word)1 << (sizeof(word) * 8 - 1))
enum { SOFTWARE_INTERRUPT = 3, TIMER_INTERRUPT = 7 };
enum { STATUS_MIE = 1 << 3, STATUS_MPIE = 1 << 7, STATUS_SPP = 1 << 8, STATUS_MPP_AT = 11 };
enum { USER = 0, SUPERVISOR = 1, MACHINE = 3 };

// The core-local interruptor: one software interrupt, one clock, one time to compare it with.
#define CLINT_SOFTWARE (*(volatile u32 *)0x02000000)
u64 clint_time(void);
void clint_set_timer(u64 when);
