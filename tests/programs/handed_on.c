// One thread takes two locks, another takes them the other way round, and a wait keeps the second from the first. "cond": it
// waits on a condition variable for the first to be done. "posts": for a semaphore that several threads post. "taken": for a
// semaphore that it has taken itself. "lock": for a lock made of a flag, a mutex and a condition, which the first thread holds
// and the second needs for something else. Where "again" follows, the first thread does it once more after that, which nobody can see
// to be after the second has.

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "asleep.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static int done, again, by_condition;
static atomic_int waiter, is_over;

static void in_order(pthread_mutex_t *first, pthread_mutex_t *second)
{
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void await_end(void)
{
    while (!atomic_load(&is_over))
        usleep(500);
}

// What the waiter waits for: by a condition it has begun to wait once its mutex is free.
static void tell(void)
{
    if (by_condition) {
        pthread_mutex_lock(&mutex);
        done = 1;
        pthread_mutex_unlock(&mutex);
        pthread_cond_signal(&cond);
    } else {
        await_blocked(&waiter);
        sem_post(&sem);
    }
}

static void *first(void *arg)
{
    in_order(&a, &b);
    tell();
    if (again) {
        await_end();
        in_order(&a, &b);
    }
    return arg;
}

// The first post, and one that might be the second for all that is known.
static int is_taken;

static void take(void)
{
    pthread_mutex_lock(&mutex);
    while (is_taken)
        pthread_cond_wait(&cond, &mutex);
    is_taken = 1;
    pthread_mutex_unlock(&mutex);
}

static void drop(void)
{
    pthread_mutex_lock(&mutex);
    is_taken = 0;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
}

static void *first_with_lock(void *arg)
{
    take();
    atomic_store(&is_over, 1);
    await_blocked(&waiter);
    in_order(&a, &b);
    drop();
    return arg;
}

static void *second_after_lock(void *arg)
{
    await_end();
    atomic_store(&waiter, thread_id());
    take();
    drop();
    in_order(&b, &a);
    return arg;
}

static void *posts_too(void *arg)
{
    sem_post(&sem);
    await_end();
    sem_post(&sem);
    return arg;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "cond";
    again = strstr(how, "again") != NULL;
    by_condition = !strncmp(how, "cond", 4);
    pthread_t threads[2];

    if (!strcmp(how, "lock")) {
        pthread_create(&threads[0], NULL, first_with_lock, NULL);
        pthread_create(&threads[1], NULL, second_after_lock, NULL);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        return 0;
    }
    pthread_mutex_lock(&mutex);
    sem_init(&sem, 0, !strncmp(how, "taken", 5));
    if (!strncmp(how, "taken", 5))
        sem_wait(&sem);
    if (!strncmp(how, "posts", 5)) {
        pthread_create(&threads[1], NULL, posts_too, NULL);
        sem_wait(&sem);
    }
    atomic_store(&waiter, thread_id());
    pthread_create(&threads[0], NULL, first, NULL);
    while (by_condition && !done)
        pthread_cond_wait(&cond, &mutex);
    // It may end by itself, and the thread would go on all the same.
    const struct timespec far = {.tv_sec = 1L << 40};
    if (!by_condition && strstr(how, "timed"))
        sem_timedwait(&sem, &far);
    else if (!by_condition)
        sem_wait(&sem);
    pthread_mutex_unlock(&mutex);

    in_order(&b, &a);
    atomic_store(&is_over, 1);

    pthread_join(threads[0], NULL);
    if (!strncmp(how, "posts", 5))
        pthread_join(threads[1], NULL);
    sem_destroy(&sem);
    return 0;
}
