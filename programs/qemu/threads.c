// Threads that run the same code at once: atomics, a mutex, a condition, a barrier, thread-local storage.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 3000, ITEMS = 200 };

static atomic_uint counter, swapped;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static unsigned guarded, queued, taken;
static __thread uint32_t own;

__attribute__((noinline)) static uint32_t mix(uint32_t value) {
    value ^= value << 13;
    value ^= value >> 17;
    return value ^ value << 5;
}

static void *work(void *argument) {
    unsigned index = (unsigned)(uintptr_t)argument;
    own = index + 1;
    for (unsigned i = 0; i < ROUNDS; i++) {
        own = mix(own);
        atomic_fetch_add(&counter, own & 1);
        unsigned old = atomic_load(&swapped);
        while (!atomic_compare_exchange_weak(&swapped, &old, old + 1)) {}
        if (i % 16 == 0) {
            pthread_mutex_lock(&lock);
            guarded += own & 7;
            pthread_mutex_unlock(&lock);
        }
    }
    pthread_barrier_wait(&barrier);
    // Even threads make, odd ones take.
    for (unsigned i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        if (index % 2 == 0) {
            queued++;
            pthread_cond_signal(&changed);
        } else {
            while (queued == 0) pthread_cond_wait(&changed, &lock);
            queued--;
            taken++;
        }
        pthread_mutex_unlock(&lock);
    }
    return (void *)(uintptr_t)own;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, 0, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], 0, work, (void *)i)) return 2;
    uint32_t sum = 0;
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (uint32_t)(uintptr_t)result;
    }
    printf("threads: %u %u %u %u %08x\n", atomic_load(&counter), atomic_load(&swapped), guarded, taken, (unsigned)sum);
    return 0;
}
