/* Two threads take one mutex 20 times each and sleep with it for as many microseconds as told. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static struct timespec held;

static void *work(void *unused) {
    (void)unused;
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&shared);
        nanosleep(&held, 0);
        pthread_mutex_unlock(&shared);
    }
    return 0;
}

int main(int argc, char **argv) {
    long us = argc > 1 ? atol(argv[1]) : 0;
    held.tv_sec = us / 1000000;
    held.tv_nsec = us % 1000000 * 1000;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], 0, work, 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], 0);
    }
    return 0;
}
