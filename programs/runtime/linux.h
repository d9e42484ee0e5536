// Linux system calls, by their numbers on RISC-V. An error is a small negative result.
#pragma once
#include "types.h"

enum {
    SYSTEM_OPENAT = 56,
    SYSTEM_CLOSE = 57,
    SYSTEM_LSEEK = 62,
    SYSTEM_READ = 63,
    SYSTEM_WRITE = 64,
    SYSTEM_FSTAT = 80,
    SYSTEM_EXIT = 93,
    SYSTEM_EXIT_GROUP = 94,
    SYSTEM_CLOCK_GETTIME = 113,
    SYSTEM_BRK = 214,
    SYSTEM_MUNMAP = 215,
    SYSTEM_MMAP = 222,
    SYSTEM_GETRANDOM = 278,
};

// Fewer arguments are fine: the kernel looks only at those that it wants.
long system_call(long number, ...);
