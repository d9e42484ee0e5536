// Output and the end of a program by semihosting: a breakpoint between two shifts that do nothing is a call to the debugger.
#include "runtime/runtime.h"

enum { WRITE_CHARACTER = 0x03, WRITE_STRING = 0x04, EXIT = 0x18, EXIT_EXTENDED = 0x20 };
enum { APPLICATION_EXIT = 0x20026, RUN_TIME_ERROR = 0x20023 };

word semihosting_call(word operation, word argument); // semihosting_call.S

void output(const char *text, size length)
{
    // The call wants a zero at the end.
    char line[257];
    memcpy(line, text, length);
    line[length] = 0;
    semihosting_call(WRITE_STRING, (word)line);
}

void exit(int status)
{
    print_flush();
    word block[2] = {APPLICATION_EXIT, (word)status};
#ifdef BY_EXIT
    // On 64-bit machines the argument is a block with a status; on 32-bit ones it is the reason itself.
    if (sizeof(word) == 8)
        semihosting_call(EXIT, (word)block);
    else
        semihosting_call(EXIT, status ? RUN_TIME_ERROR : APPLICATION_EXIT);
#else
    semihosting_call(EXIT_EXTENDED, (word)block);
#endif
    for (;;)
        ;
}

int main(void)
{
    u64 random = 11;
    u32 checksum = CHECKSUM_START;
    for (int i = 0; i < 1000; i++)
        checksum = mix(checksum, next_random(&random));
    for (const char *letter = "letters, one by one\n"; *letter; letter++)
        semihosting_call(WRITE_CHARACTER, (word)letter);
#ifdef BY_EXIT
    print_checksum("semihosting-exit", checksum);
    return 3;
#else
    print_checksum("semihosting", checksum);
    return 0;
#endif
}

// The runtime's trap entry wants one. There are none here.
void *machine_trap(void *frame)
{
    return frame;
}
