// Assembly for both widths of register, and the layout of a frame (bare.h has the same for C).
#pragma once

#if __riscv_xlen == 64
#define LOAD ld
#define STORE sd
#define WORD 8
#else
#define LOAD lw
#define STORE sw
#define WORD 4
#endif

// The program counter, x1 to x31, then these.
#define FRAME_STATUS 32
#define FRAME_CAUSE 33
#define FRAME_VALUE 34
#define FRAME_WORDS 35
