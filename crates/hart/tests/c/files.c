/* Files and folders, in the folder it is started in. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static void tell(const char *what, long result) {
    printf("%s: %ld %s\n", what, result, result < 0 ? strerror(errno) : "");
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void list(const char *path) {
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, by_name);
    printf("%s has %d:", path, count);
    for (int i = 0; i < count; i++) {
        printf(" %s(%d)", entries[i]->d_name, entries[i]->d_type);
        free(entries[i]);
    }
    printf("\n");
    if (count >= 0) free(entries);
}

int main(void) {
    char path[PATH_MAX], text[256] = {0};
    struct stat info;
    tell("getcwd", getcwd(path, sizeof path) ? 0 : -1);
    printf("%s\n", path);

    FILE *file = fopen("a.txt", "w+");
    if (!file) return 1;
    for (int i = 0; i < 5000; i++) fprintf(file, "line %d\n", i);
    tell("ftell", ftell(file));
    fseek(file, 1000, SEEK_SET);
    printf("%s", fgets(text, sizeof text, file));
    rewind(file);
    long sum = 0, number;
    while (fscanf(file, "line %ld\n", &number) == 1) sum += number;
    tell("sum", sum);
    fclose(file);

    tell("open missing", open("missing", O_RDONLY));
    tell("open in file", open("a.txt/x", O_RDONLY));
    tell("open exclusively", open("a.txt", O_CREAT | O_EXCL | O_WRONLY, 0600));
    tell("open folder", open(".", O_WRONLY));
    tell("mkdir", mkdir("folder", 0755));
    tell("mkdir again", mkdir("folder", 0755));
    tell("stat", stat("a.txt", &info));
    printf("%ld %o\n", (long)info.st_size, info.st_mode & S_IFMT);
    tell("stat folder", stat("folder", &info));
    printf("%o\n", info.st_mode);
    tell("rename", rename("a.txt", "folder/b.txt"));
    tell("symlink", symlink("folder/b.txt", "link"));
    tell("readlink", readlink("link", text, sizeof text));
    tell("lstat", lstat("link", &info));
    printf("%o %ld\n", info.st_mode & S_IFMT, (long)info.st_size);
    tell("stat link", stat("link", &info));
    printf("%ld\n", (long)info.st_size);
    tell("open not following", open("link", O_RDONLY | O_NOFOLLOW));
    tell("symlink to itself", symlink("loop", "loop"));
    tell("open loop", open("loop", O_RDONLY));
    tell("hard link", link("folder/b.txt", "folder/c.txt"));
    tell("access", access("link", R_OK | W_OK));
    tell("access x", access("link", X_OK));
    list(".");
    list("folder");
    tell("rmdir full", rmdir("folder"));
    tell("unlink folder", unlink("folder"));

    int fd = open("folder/b.txt", O_RDWR);
    tell("truncate", ftruncate(fd, 100));
    tell("seek", lseek(fd, -10, SEEK_END));
    tell("read", read(fd, text, sizeof text));
    tell("read at the end", read(fd, text, sizeof text));
    tell("pread", pread(fd, text, 7, 0));
    printf("%.7s", text);
    tell("pwrite", pwrite(fd, "LINE", 4, 7));
    int other = dup(fd);
    lseek(fd, 5, SEEK_SET);
    tell("shared place", lseek(other, 0, SEEK_CUR));
    struct iovec parts[2] = {{text, 3}, {text + 100, 20}};
    tell("readv", readv(fd, parts, 2));
    printf("%.3s%.5s", text, text + 100);
    tell("write to closed", (close(other), write(other, "x", 1)));
    int append = open("folder/b.txt", O_WRONLY | O_APPEND);
    tell("append", write(append, "end\n", 4));
    tell("size", lseek(append, 0, SEEK_END));
    tell("read what is for writing", read(append, text, 1));
    tell("flags", fcntl(append, F_GETFL) & (O_ACCMODE | O_APPEND));
    tell("dup2", dup2(append, 20));
    tell("dup fd", fcntl(20, F_DUPFD, 30));

    char *map = mmap(NULL, 104, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    printf("%.14s|%d\n", map, map[200]);
    map[0] = 'X';
    tell("pread", pread(fd, text, 1, 0));
    printf("%c\n", text[0]);
    munmap(map, 104);
    map = mmap(NULL, 104, PROT_READ, MAP_SHARED, fd, 0);
    printf("%.6s\n", map);
    tell("map of nothing", mmap(NULL, 10, PROT_READ, MAP_PRIVATE, 99, 0) == MAP_FAILED ? -1 : 0);

    int ends[2];
    tell("pipe", pipe(ends));
    tell("to it", write(ends[1], "through", 7));
    struct pollfd ready = {ends[0], POLLIN, 0};
    tell("poll", poll(&ready, 1, 0));
    tell("from it", read(ends[0], text, sizeof text));
    close(ends[1]);
    tell("its end", read(ends[0], text, sizeof text));

    tell("isatty", isatty(fd));
    int null = open("/dev/null", O_RDWR);
    tell("null", read(null, text, 10));
    tell("to null", write(null, text, 10));
    int zero = open("/dev/zero", O_RDONLY);
    tell("zero", read(zero, text, 10));

    struct timespec times[2] = {{1000000000, 5}, {1100000000, 7}};
    tell("times", futimens(fd, times));
    fstat(fd, &info);
    printf("%ld %ld\n", (long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    tell("chmod", chmod("folder/b.txt", 0640));
    stat("folder/b.txt", &info);
    printf("%o %d\n", info.st_mode, (int)info.st_nlink);

    tell("chdir", chdir("folder"));
    tell("open relative", open("b.txt", O_RDONLY) > 0);
    tell("chdir up", chdir(".."));
    int folder = open("folder", O_RDONLY | O_DIRECTORY);
    tell("openat", openat(folder, "c.txt", O_RDONLY) > 0);
    tell("unlinkat", unlinkat(folder, "c.txt", 0));
    tell("unlink", unlink("folder/b.txt"));
    tell("rmdir", rmdir("folder"));
    tell("unlink link", unlink("link"));
    unlink("loop");
    list(".");
    tell("bad address", write(1, (void *)8, 1));
    return 0;
}
