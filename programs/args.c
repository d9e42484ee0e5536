// What a program gets from the system, and asks of it.
//
//   args [status=N] [file=PATH] [ANY...]
//
// It shows its arguments and its environment, reads standard input and the file to their ends, and ends with the status.
#include "runtime/linux.h"
#include "runtime/runtime.h"

enum { AT_WORKING_DIRECTORY = -100, FROM_START = 0, FROM_END = 2, PROTECT_READ = 1, PROTECT_READ_WRITE = 3, MAP_PRIVATE = 2, MAP_ANONYMOUS = 32 };

// What fstat fills in; the size is all that we look at.
typedef struct {
    u64 device, inode;
    u32 mode, links, user, group;
    u64 special_device, padding;
    i64 bytes;
    u64 rest[9];
} file_status;

static u8 buffer[1000]; // Not a power of two: reads end in the middle of things.

static void show(const char *what, long value)
{
    print_string(what);
    print_decimal(value);
    print_string("\n");
}

static const char *after(const char *text, const char *prefix)
{
    for (; *prefix; text++, prefix++)
        if (*text != *prefix)
            return NULL;
    return text;
}

static u32 mix_bytes(u32 checksum, const u8 *bytes, long count)
{
    for (long i = 0; i < count; i++)
        checksum = (checksum ^ bytes[i]) * 0x01000193u;
    return checksum;
}

static u32 read_to_end(int file, u32 checksum, long *total)
{
    long count;
    for (*total = 0; (count = system_call(SYSTEM_READ, (long)file, buffer, sizeof buffer)) > 0; *total += count)
        checksum = mix_bytes(checksum, buffer, count);
    if (count < 0)
        show("read failed: ", count);
    return checksum;
}

// The file in three ways: by read, by its size, by mmap. All must agree.
static u32 read_file(const char *path, u32 checksum)
{
    long file = system_call(SYSTEM_OPENAT, (long)AT_WORKING_DIRECTORY, path, 0l, 0l);
    if (file < 0) {
        show("open failed: ", file);
        return mix(checksum, (u64)file);
    }
    long total;
    u32 by_read = read_to_end((int)file, CHECKSUM_START, &total);
    file_status status;
    long failed = system_call(SYSTEM_FSTAT, file, &status);
    long end = system_call(SYSTEM_LSEEK, file, 0l, (long)FROM_END);
    long start = system_call(SYSTEM_LSEEK, file, 0l, (long)FROM_START);
    if (failed || status.bytes != total || end != total || start != 0)
        exit(101);
    if (total) {
        u8 *mapped = (u8 *)system_call(SYSTEM_MMAP, 0l, total, (long)PROTECT_READ, (long)MAP_PRIVATE, file, 0l);
        if ((long)mapped < 0 && (long)mapped > -4096)
            exit(102);
        if (mix_bytes(CHECKSUM_START, mapped, total) != by_read)
            exit(103);
        system_call(SYSTEM_MUNMAP, mapped, total);
    }
    if (system_call(SYSTEM_CLOSE, file) != 0)
        exit(104);
    show("file bytes: ", total);
    return mix(checksum, by_read);
}

// Memory in both ways that Linux has; new memory must be zero.
static void try_memory(void)
{
    long length = 100000;
    u8 *old = (u8 *)system_call(SYSTEM_BRK, 0l);
    if ((u8 *)system_call(SYSTEM_BRK, old + length) != old + length)
        exit(105);
    u8 *mapped = (u8 *)system_call(SYSTEM_MMAP, 0l, length, (long)PROTECT_READ_WRITE, (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1l, 0l);
    if ((long)mapped < 0 && (long)mapped > -4096)
        exit(106);
    for (long i = 0; i < length; i += 999) {
        if (old[i] || mapped[i])
            exit(107);
        old[i] = mapped[i] = (u8)i;
    }
    if (system_call(SYSTEM_MUNMAP, mapped, length) != 0 || (u8 *)system_call(SYSTEM_BRK, old) != old)
        exit(108);
    print_string("memory: ok\n");
}

// Neither gives the same answer twice, so only their shape shows.
static void try_time_and_chance(void)
{
    struct {
        i64 seconds, nanoseconds;
    } first, second;
    if (system_call(SYSTEM_CLOCK_GETTIME, 1l, &first) != 0 || system_call(SYSTEM_CLOCK_GETTIME, 1l, &second) != 0)
        exit(109);
    if (first.nanoseconds < 0 || first.nanoseconds >= 1000000000 || second.seconds < first.seconds ||
        (second.seconds == first.seconds && second.nanoseconds < first.nanoseconds))
        exit(110);
    u8 chance[32];
    memset(chance, 0, sizeof chance);
    if (system_call(SYSTEM_GETRANDOM, chance, sizeof chance, 0l) != sizeof chance)
        exit(111);
    int same = 0;
    for (size i = 1; i < sizeof chance; i++)
        same += chance[i] == chance[0];
    print_string(same < 31 ? "time and chance: ok\n" : "chance: always the same\n");
}

int main(int argc, char **argv, char **environment)
{
    int status = 0;
    const char *file = NULL;
    u32 checksum = CHECKSUM_START;
    // Not argument 0: it depends on how the program was started.
    for (int i = 1; i < argc; i++) {
        print_string("argument ");
        print_decimal(i);
        print_string(": ");
        print_string(argv[i]);
        print_string("\n");
        checksum = mix_bytes(checksum, (const u8 *)argv[i], (long)length_of(argv[i]) + 1);
        const char *value;
        if ((value = after(argv[i], "status=")))
            status = (int)parse_decimal(value);
        else if ((value = after(argv[i], "file=")))
            file = value;
    }
    if (argv[argc] != NULL)
        exit(112);
    long variables = 0;
    for (; environment[variables]; variables++) {
        print_string("variable: ");
        print_string(environment[variables]);
        print_string("\n");
    }
    show("variables: ", variables);
    long total;
    checksum = read_to_end(0, checksum, &total);
    show("standard input bytes: ", total);
    if (file)
        checksum = read_file(file, checksum);
    try_memory();
    try_time_and_chance();
    print_checksum("args", checksum);
    return status;
}
