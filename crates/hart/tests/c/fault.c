/* Ends by a fault, the one it is told to make. */
#include <stdlib.h>
#include <string.h>

static const int constant = 1;

int main(int argc, char **argv) {
    const char *which = argc > 1 ? argv[1] : "";
    if (!strcmp(which, "load")) return *(volatile int *)0x18;
    if (!strcmp(which, "store")) *(volatile int *)&constant = 2;
    if (!strcmp(which, "jump")) ((void (*)(void))0x40)();
    if (!strcmp(which, "illegal")) __asm__ volatile(".word 0xffffffff");
    if (!strcmp(which, "csr")) __asm__ volatile("csrr a0, mstatus" ::: "a0");
    if (!strcmp(which, "breakpoint")) __asm__ volatile("ebreak");
    if (!strcmp(which, "call")) __asm__ volatile("li a7, 425\n ecall" ::: "a0", "a7");
    if (!strcmp(which, "stack")) {
        volatile char room[16 << 20];
        room[0] = 1;
    }
    return 0;
}
