/* Threads: they share memory, wait for each other, and end. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define COUNT 8

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, taken = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static __thread int own = 5;
static long total, queue[4];
static int head, tail;
static atomic_int spun, stop;

static void *add(void *argument) {
    own += (int)(long)argument;
    for (int i = 0; i < 20000; i++) {
        pthread_mutex_lock(&mutex);
        total += own;
        pthread_mutex_unlock(&mutex);
    }
    pthread_barrier_wait(&barrier);
    return (void *)(long)own;
}

static void *produce(void *argument) {
    for (long i = 1; i <= 1000; i++) {
        pthread_mutex_lock(&mutex);
        while (head - tail == 4) pthread_cond_wait(&taken, &mutex);
        queue[head++ % 4] = i;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

static void *spin(void *argument) {
    while (!atomic_load(&stop)) atomic_fetch_add(&spun, 1);
    return argument;
}

static void *post(void *argument) {
    struct timespec nap = {0, 1000000};
    nanosleep(&nap, NULL);
    sem_post(&semaphore);
    char byte;
    if (read(*(int *)argument, &byte, 1) == 1) printf("read %c\n", byte);
    pthread_exit(NULL);
}

int main(void) {
    pthread_t threads[COUNT];
    pthread_barrier_init(&barrier, NULL, COUNT);
    for (long i = 0; i < COUNT; i++) printf("%d", pthread_create(&threads[i], NULL, add, (void *)i));
    long sum = 0;
    for (int i = 0; i < COUNT; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    printf("\n%ld %ld %d\n", total, sum, own);

    pthread_create(&threads[0], NULL, produce, NULL);
    sum = 0;
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&mutex);
        while (head == tail) pthread_cond_wait(&filled, &mutex);
        sum += queue[tail++ % 4];
        pthread_cond_signal(&taken);
        pthread_mutex_unlock(&mutex);
    }
    pthread_join(threads[0], NULL);
    printf("%ld\n", sum);

    pthread_create(&threads[0], NULL, spin, NULL);
    while (atomic_load(&spun) < 1000) {
    }
    atomic_store(&stop, 1);
    pthread_join(threads[0], NULL);

    int ends[2];
    pipe(ends);
    sem_init(&semaphore, 0, 0);
    pthread_create(&threads[0], NULL, post, &ends[0]);
    sem_wait(&semaphore);
    write(ends[1], "x", 1);
    pthread_join(threads[0], NULL);

    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    printf("%d\n", sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT);
    return 0;
}
