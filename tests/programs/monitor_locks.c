/* Locks of a program's own: a flag behind a mutex and a condition variable.
 *
 * monitor_locks ORDER [contended]
 *   ab-ba    two threads take two of them in both orders, one thread after the other by an atomic
 *   same     in one order
 *   joined   in both orders, the second thread after the first has been joined
 *   outer    in both orders, each within a third one
 *   mixed    a monitor and a mutex in both orders
 *   try      in both orders, the inner one without a wait
 *   heap     as ab-ba, with locks of one structure in the heap
 *   deadlock in both orders at once, after each thread has been through alone
 *
 * contended: each thread has to wait for the first lock that it takes.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>

struct monitor {
    pthread_mutex_t mutex;
    pthread_cond_t free;
    bool is_taken;
    int waiters;
};

static struct monitor a = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0 };
static struct monitor b = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0 };
static struct monitor outer = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0 };
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static bool is_contended;
static atomic_int turn, met;

static void take(struct monitor *m)
{
    pthread_mutex_lock(&m->mutex);
    while (m->is_taken) {
        m->waiters++;
        pthread_cond_wait(&m->free, &m->mutex);
        m->waiters--;
    }
    m->is_taken = true;
    pthread_mutex_unlock(&m->mutex);
}

static bool try_to_take(struct monitor *m)
{
    pthread_mutex_lock(&m->mutex);
    bool is_free = !m->is_taken;
    if (is_free)
        m->is_taken = true;
    pthread_mutex_unlock(&m->mutex);
    return is_free;
}

static void give(struct monitor *m)
{
    pthread_mutex_lock(&m->mutex);
    m->is_taken = false;
    pthread_cond_signal(&m->free);
    pthread_mutex_unlock(&m->mutex);
}

static bool is_waited_for(struct monitor *m)
{
    /* Without the mutex: a section of it that neither takes nor gives would be another use. */
    return __atomic_load_n(&m->waiters, __ATOMIC_RELAXED) > 0;
}

/* Holds the lock until a thread waits for it. */
static void *obstacle(void *lock)
{
    struct monitor *m = lock;
    take(m);
    atomic_fetch_add(&met, 1);
    while (!is_waited_for(m))
        sched_yield();
    give(m);
    return NULL;
}

static void take_contended(struct monitor *m)
{
    if (!is_contended) {
        take(m);
        return;
    }
    pthread_t other;
    int before = atomic_load(&met);
    pthread_create(&other, NULL, obstacle, m);
    while (atomic_load(&met) == before)
        sched_yield();
    take(m);
    pthread_detach(other);
}

struct pair {
    struct monitor *first, *second;
    int turn;
};

static void *in_turn(void *arg)
{
    struct pair *p = arg;
    while (atomic_load(&turn) != p->turn)
        sched_yield();
    take_contended(p->first);
    take(p->second);
    give(p->second);
    give(p->first);
    atomic_fetch_add(&turn, 1);
    return NULL;
}

static void *in_turn_within(void *arg)
{
    struct pair *p = arg;
    while (atomic_load(&turn) != p->turn)
        sched_yield();
    take(&outer);
    take(p->first);
    take(p->second);
    give(p->second);
    give(p->first);
    give(&outer);
    atomic_fetch_add(&turn, 1);
    return NULL;
}

static void *in_turn_trying(void *arg)
{
    struct pair *p = arg;
    while (atomic_load(&turn) != p->turn)
        sched_yield();
    take(p->first);
    if (try_to_take(p->second))
        give(p->second);
    give(p->first);
    atomic_fetch_add(&turn, 1);
    return NULL;
}

static void *monitor_first(void *arg)
{
    (void)arg;
    take(&a);
    pthread_mutex_lock(&plain);
    pthread_mutex_unlock(&plain);
    give(&a);
    atomic_store(&turn, 1);
    return NULL;
}

static void *mutex_first(void *arg)
{
    (void)arg;
    while (atomic_load(&turn) != 1)
        sched_yield();
    pthread_mutex_lock(&plain);
    take(&a);
    give(&a);
    pthread_mutex_unlock(&plain);
    return NULL;
}

static void *at_once(void *arg)
{
    struct pair *p = arg;
    take(p->first);
    atomic_fetch_add(&met, 1);
    while (atomic_load(&met) < 2)
        sched_yield();
    take(p->second);
    give(p->second);
    give(p->first);
    return NULL;
}

static void both(void *(*first)(void *), void *first_arg, void *(*second)(void *), void *second_arg)
{
    pthread_t t, u;
    pthread_create(&t, NULL, first, first_arg);
    pthread_create(&u, NULL, second, second_arg);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
}

int main(int argc, char **argv)
{
    const char *order = argc > 1 ? argv[1] : "ab-ba";
    is_contended = argc > 2;
    struct pair ab = { &a, &b, 0 }, ba = { &b, &a, 1 };
    pthread_t t;
    if (!strcmp(order, "ab-ba")) {
        both(in_turn, &ab, in_turn, &ba);
    } else if (!strcmp(order, "same")) {
        struct pair ab_too = { &a, &b, 1 };
        both(in_turn, &ab, in_turn, &ab_too);
    } else if (!strcmp(order, "joined")) {
        pthread_create(&t, NULL, in_turn, &ab);
        pthread_join(t, NULL);
        pthread_create(&t, NULL, in_turn, &ba);
        pthread_join(t, NULL);
    } else if (!strcmp(order, "outer")) {
        both(in_turn_within, &ab, in_turn_within, &ba);
    } else if (!strcmp(order, "mixed")) {
        both(monitor_first, NULL, mutex_first, NULL);
    } else if (!strcmp(order, "try")) {
        both(in_turn_trying, &ab, in_turn_trying, &ba);
    } else if (!strcmp(order, "heap")) {
        struct monitor *all[2];
        for (int i = 0; i < 2; i++) {
            all[i] = calloc(1, sizeof **all);
            pthread_mutex_init(&all[i]->mutex, NULL);
            pthread_cond_init(&all[i]->free, NULL);
        }
        struct pair one = { all[0], all[1], 0 }, other = { all[1], all[0], 1 };
        both(in_turn, &one, in_turn, &other);
    } else {
        both(in_turn, &ab, in_turn, &ba);
        both(at_once, &ab, at_once, &ba);
    }
    puts("done");
    return 0;
}
