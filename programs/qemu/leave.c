// A thread ends the process while others compute: nothing waits for them.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_uint running;
static volatile unsigned sink;

static void *compute(void *argument) {
    (void)argument;
    running++;
    for (unsigned i = 0; running; i++) sink = sink * 33 + (i % 5 ? i : 1);
    return 0;
}

static void *leave(void *argument) {
    (void)argument;
    while (running < 2) {}
    printf("leave: from a thread\n");
    exit(4);
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, compute, 0);
    pthread_create(&thread, 0, compute, 0);
    pthread_create(&thread, 0, leave, 0);
    pthread_join(thread, 0);
    return 1;
}
