#include "linux.h"
#include "runtime.h"

void output(const char *text, size length)
{
    while (length) {
        long written = system_call(SYSTEM_WRITE, 1, text, length);
        if (written <= 0)
            exit(120);
        text += written;
        length -= (size)written;
    }
}

void exit(int status)
{
    // With nothing left to print, output makes no call.
    print_flush();
    for (;;)
        system_call(SYSTEM_EXIT_GROUP, (long)status);
}
