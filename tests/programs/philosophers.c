// Three philosophers take two forks each, in a circle. A semaphore lets so many of them sit down as the argument says
// at its beginning. If it goes on with "posted", the main thread posts the semaphore once more; with "twice", somebody takes two
// seats at first; with "late", each takes a seat after the first fork, and they come one after the other, by turns that nobody sees.

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FORKS = 3, MEALS = 50 };

static pthread_mutex_t forks[FORKS];
static sem_t seats;

static atomic_long turn;

// All could sit down at once, and would wait for ever by chance: they come one after the other, by turns that nobody sees.
static int take_turns;

static void *dine(void *arg)
{
    long left = (long)arg, right = (left + 1) % FORKS;
    while (take_turns && atomic_load(&turn) != left)
        usleep(500);
    for (int meal = 0; meal < MEALS; meal++) {
        sem_wait(&seats);
        pthread_mutex_lock(&forks[left]);
        pthread_mutex_lock(&forks[right]);
        pthread_mutex_unlock(&forks[right]);
        pthread_mutex_unlock(&forks[left]);
        sem_post(&seats);
    }
    atomic_store(&turn, left + 1);
    return NULL;
}

static void *dine_late(void *arg)
{
    long left = (long)arg, right = (left + 1) % FORKS;
    while (atomic_load(&turn) != left)
        usleep(500);
    pthread_mutex_lock(&forks[left]);
    sem_wait(&seats);
    pthread_mutex_lock(&forks[right]);
    pthread_mutex_unlock(&forks[right]);
    sem_post(&seats);
    pthread_mutex_unlock(&forks[left]);
    atomic_store(&turn, left + 1);
    return NULL;
}

static void *sit_on_two(void *arg)
{
    sem_wait(&seats);
    sem_wait(&seats);
    sem_post(&seats);
    sem_post(&seats);
    return arg;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "2";
    sem_init(&seats, 0, atoi(how));
    for (int i = 0; i < FORKS; i++)
        pthread_mutex_init(&forks[i], NULL);
    pthread_t threads[FORKS];
    if (strstr(how, "posted"))
        sem_post(&seats);
    if (strstr(how, "twice")) {
        pthread_create(&threads[0], NULL, sit_on_two, NULL);
        pthread_join(threads[0], NULL);
    }
    int late = strstr(how, "late") != NULL;
    for (long i = 0; late && i < FORKS; i++)
        pthread_create(&threads[i], NULL, dine_late, (void *)i);
    for (long i = 0; late && i < FORKS; i++)
        pthread_join(threads[i], NULL);
    // One after the other first: each order is recorded, whatever the timing is later.
    for (int together = 0; !late && together < 2; together++) {
        take_turns = together && atoi(how) + (strstr(how, "posted") != NULL) >= FORKS;
        atomic_store(&turn, 0);
        for (long i = 0; i < FORKS; i++) {
            pthread_create(&threads[i], NULL, dine, (void *)i);
            if (!together)
                pthread_join(threads[i], NULL);
        }
        for (int i = 0; together && i < FORKS; i++)
            pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < FORKS; i++)
        pthread_mutex_destroy(&forks[i]);
    sem_destroy(&seats);
    return 0;
}
