// The rival of the recorder: a QEMU plugin that counts blocks and instructions and does nothing else, as QEMU's own
// example does. By a call for each block, or, with `inline=on`, by additions that QEMU puts into the translated code.
// The declarations are written by hand: no package has QEMU's header.
//   -plugin bb_count.so,out=FILE[,inline=on]
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
typedef uint64_t plugin_id;
struct block;

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct block *));
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct block *, void (*)(unsigned, void *), int flags, void *);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct block *, int operation, void *, uint64_t);
extern void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);
extern size_t qemu_plugin_tb_n_insns(const struct block *);

EXPORT int qemu_plugin_version = 1;

static uint64_t blocks, instructions;
static int is_inline;
static char out[4096];

static void count(unsigned cpu, void *length) {
    (void)cpu;
    blocks++;
    instructions += (uintptr_t)length;
}

static void translated(plugin_id id, struct block *block) {
    (void)id;
    size_t length = qemu_plugin_tb_n_insns(block);
    if (is_inline) {
        qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &blocks, 1);
        qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &instructions, length);
    } else {
        qemu_plugin_register_vcpu_tb_exec_cb(block, count, 0, (void *)length);
    }
}

static void at_exit(plugin_id id, void *data) {
    (void)id, (void)data;
    FILE *file = fopen(out, "w");
    if (!file) return;
    fprintf(file, "%llu %llu\n", (unsigned long long)blocks, (unsigned long long)instructions);
    fclose(file);
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int count_of_arguments, char **arguments) {
    (void)info;
    for (int i = 0; i < count_of_arguments; i++) {
        if (!strncmp(arguments[i], "out=", 4)) snprintf(out, sizeof out, "%s", arguments[i] + 4);
        else if (!strcmp(arguments[i], "inline=on")) is_inline = 1;
        else return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, at_exit, 0);
    return 0;
}
