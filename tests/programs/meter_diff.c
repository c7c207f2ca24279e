/* Two threads take one mutex 20 times each and sleep with it for HOLD_US microseconds. */
#include <pthread.h>
#include <time.h>

#ifndef HOLD_US
#define HOLD_US 200
#endif

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused) {
    (void)unused;
    for (int i = 0; i < 20; i++) {
        struct timespec time = {0, HOLD_US * 1000};
        pthread_mutex_lock(&shared);
        nanosleep(&time, 0);
        pthread_mutex_unlock(&shared);
    }
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], 0, work, 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], 0);
    }
    return 0;
}
