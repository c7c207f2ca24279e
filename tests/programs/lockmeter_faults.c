/* What the kernel's lockmeter counted wrongly: holds nested at one call site, and write trylocks that succeed.
 *
 * nest() takes two mutexes at one place, the outer one for at least 30 ms, the inner one for 1 ms of it.
 * writer() takes an rwlock three times; taker() takes it five times by trylock, and twice is refused. */
#include <pthread.h>
#include <time.h>

static pthread_mutex_t nested[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;

static void sleep_ms(long ms) {
    struct timespec time = {0, ms * 1000000};
    nanosleep(&time, 0);
}

static void nest(int depth) {
    pthread_mutex_lock(&nested[depth]);
    if (depth == 0) {
        sleep_ms(29);
        nest(1);
    } else {
        sleep_ms(1);
    }
    pthread_mutex_unlock(&nested[depth]);
}

static void writer(void) {
    for (int i = 0; i < 3; i++) {
        pthread_rwlock_wrlock(&table);
        pthread_rwlock_unlock(&table);
    }
}

static int taker(int times) {
    int taken = 0;
    for (int i = 0; i < times; i++) {
        if (pthread_rwlock_trywrlock(&table) == 0) {
            sleep_ms(2);
            pthread_rwlock_unlock(&table);
            taken++;
        }
    }
    return taken;
}

static void *other(void *taken) {
    *(int *)taken = taker(2);
    return 0;
}

int main(void) {
    nest(0);
    writer();
    int taken = taker(5), refused = 1;
    pthread_rwlock_rdlock(&table);
    pthread_t thread;
    pthread_create(&thread, 0, other, &refused);
    pthread_join(thread, 0);
    pthread_rwlock_unlock(&table);
    return taken == 5 && refused == 0 ? 0 : 1;
}
