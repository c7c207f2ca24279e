/* Mutexes with condition variables that are no locks, each used in both orders by threads one of which comes after the other by
 * an atomic: whatever takes them for locks finds a cycle.
 *
 * monitor_lookalikes bounded|unbounded|event|drain|pool|pool-full|token|token-contended|once
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sched.h>

#define ROUNDS 3

static atomic_int turn;

static void await(int number)
{
    while (atomic_load(&turn) != number)
        sched_yield();
}

#define OBJECT pthread_mutex_t mutex; pthread_cond_t cond
#define INIT PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER

/* Queues of so many places. */
struct queue {
    OBJECT;
    int count, size;
};

static struct queue q1 = { INIT, 0, 4 }, q2 = { INIT, 0, 4 };

static void put(struct queue *q)
{
    pthread_mutex_lock(&q->mutex);
    while (q->count == q->size)
        pthread_cond_wait(&q->cond, &q->mutex);
    q->count++;
    pthread_cond_broadcast(&q->cond);
    pthread_mutex_unlock(&q->mutex);
}

static void get(struct queue *q)
{
    pthread_mutex_lock(&q->mutex);
    while (q->count == 0)
        pthread_cond_wait(&q->cond, &q->mutex);
    q->count--;
    /* Only a bounded one has threads that wait for room. */
    if (q->size < 1000)
        pthread_cond_broadcast(&q->cond);
    pthread_mutex_unlock(&q->mutex);
}

static void *queues(void *arg)
{
    bool is_second = arg != NULL;
    await(is_second);
    struct queue *first = is_second ? &q2 : &q1, *second = is_second ? &q1 : &q2;
    for (int i = 0; i < ROUNDS; i++) {
        put(first);
        put(second);
        get(second);
        get(first);
    }
    put(second);
    put(first);
    for (int i = 0; i < ROUNDS; i++) {
        get(first);
        get(second);
        put(second);
        put(first);
    }
    get(first);
    get(second);
    atomic_fetch_add(&turn, 1);
    return NULL;
}

/* An event that is set and cleared. */
struct event {
    OBJECT;
    bool is_set;
};

static struct event e1 = { INIT, false }, e2 = { INIT, false };

static void set(struct event *e)
{
    pthread_mutex_lock(&e->mutex);
    e->is_set = true;
    pthread_cond_broadcast(&e->cond);
    pthread_mutex_unlock(&e->mutex);
}

static void await_and_clear(struct event *e)
{
    pthread_mutex_lock(&e->mutex);
    while (!e->is_set)
        pthread_cond_wait(&e->cond, &e->mutex);
    e->is_set = false;
    pthread_mutex_unlock(&e->mutex);
}

static void *setter(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        set(&e1);
        await_and_clear(&e2);
    }
    return NULL;
}

static void *waiter(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        await_and_clear(&e1);
        set(&e2);
    }
    return NULL;
}

/* How many tasks run, and a wait for the end of all. */
struct running {
    OBJECT;
    int tasks;
};

static struct running r1 = { INIT, 0 }, r2 = { INIT, 0 };

static void begin_task(struct running *r)
{
    pthread_mutex_lock(&r->mutex);
    r->tasks++;
    pthread_mutex_unlock(&r->mutex);
}

static void end_task(struct running *r)
{
    pthread_mutex_lock(&r->mutex);
    if (--r->tasks == 0)
        pthread_cond_broadcast(&r->cond);
    pthread_mutex_unlock(&r->mutex);
}

static void drain(struct running *r)
{
    pthread_mutex_lock(&r->mutex);
    while (r->tasks != 0)
        pthread_cond_wait(&r->cond, &r->mutex);
    pthread_mutex_unlock(&r->mutex);
}

static void *tasks(void *arg)
{
    bool is_second = arg != NULL;
    await(is_second);
    struct running *first = is_second ? &r2 : &r1, *second = is_second ? &r1 : &r2;
    for (int i = 0; i < ROUNDS; i++) {
        begin_task(first);
        begin_task(second);
        end_task(second);
        end_task(first);
    }
    atomic_fetch_add(&turn, 1);
    return NULL;
}

/* Resources of which there are two. */
struct pool {
    OBJECT;
    int free;
    atomic_int waits;
};

static struct pool p1 = { INIT, 2, 0 }, p2 = { INIT, 2, 0 };

static void acquire(struct pool *p)
{
    pthread_mutex_lock(&p->mutex);
    while (p->free == 0) {
        p->waits++;
        pthread_cond_wait(&p->cond, &p->mutex);
    }
    p->free--;
    pthread_mutex_unlock(&p->mutex);
}

static void release(struct pool *p)
{
    pthread_mutex_lock(&p->mutex);
    p->free++;
    pthread_cond_signal(&p->cond);
    pthread_mutex_unlock(&p->mutex);
}

static void *pools(void *arg)
{
    bool is_second = arg != NULL;
    await(is_second);
    struct pool *first = is_second ? &p2 : &p1, *second = is_second ? &p1 : &p2;
    for (int i = 0; i < ROUNDS; i++) {
        acquire(first);
        acquire(second);
        release(second);
        release(first);
    }
    atomic_fetch_add(&turn, 1);
    return NULL;
}

static void *hold_until_waited_for(void *pool)
{
    struct pool *p = pool;
    acquire(p);
    atomic_fetch_add(&turn, 1);
    while (atomic_load(&p->waits) == 0)
        sched_yield();
    release(p);
    return NULL;
}

/* What two threads may do in turn: one writes, the other reads. */
struct token {
    OBJECT;
    bool is_written;
    atomic_int waiters;
};

static struct token t1 = { INIT, false, 0 }, t2 = { INIT, false, 0 };

static void await_token(struct token *t, bool is_written)
{
    pthread_mutex_lock(&t->mutex);
    while (t->is_written != is_written) {
        t->waiters++;
        pthread_cond_wait(&t->cond, &t->mutex);
        t->waiters--;
    }
    pthread_mutex_unlock(&t->mutex);
}

static void pass(struct token *t, bool is_written)
{
    pthread_mutex_lock(&t->mutex);
    t->is_written = is_written;
    pthread_cond_signal(&t->cond);
    pthread_mutex_unlock(&t->mutex);
}

static bool waits_for_other;

static void *writer(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        await_token(&t1, false);
        await_token(&t2, false);
        while (waits_for_other && atomic_load(&t2.waiters) == 0)
            sched_yield();
        pass(&t2, true);
        pass(&t1, true);
    }
    return NULL;
}

static void *reader(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        await_token(&t2, true);
        await_token(&t1, true);
        pass(&t1, false);
        pass(&t2, false);
    }
    return NULL;
}

/* Something that is made by the thread that comes first. */
struct once {
    OBJECT;
    int state;
};

static struct once o1 = { INIT, 0 }, o2 = { INIT, 0 };

static void make(struct once *o)
{
    pthread_mutex_lock(&o->mutex);
    while (o->state == 1)
        pthread_cond_wait(&o->cond, &o->mutex);
    if (o->state == 2) {
        pthread_mutex_unlock(&o->mutex);
        return;
    }
    pthread_mutex_unlock(&o->mutex);
    pthread_mutex_lock(&o->mutex);
    o->state = 2;
    pthread_cond_broadcast(&o->cond);
    pthread_mutex_unlock(&o->mutex);
}

static void *makers(void *arg)
{
    bool is_second = arg != NULL;
    await(is_second);
    for (int i = 0; i < ROUNDS; i++) {
        make(is_second ? &o2 : &o1);
        make(is_second ? &o1 : &o2);
    }
    atomic_fetch_add(&turn, 1);
    return NULL;
}

static void both(void *(*first)(void *), void *(*second)(void *))
{
    pthread_t t, u;
    pthread_create(&t, NULL, first, NULL);
    pthread_create(&u, NULL, second, &t);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "bounded";
    if (!strcmp(what, "bounded")) {
        both(queues, queues);
    } else if (!strcmp(what, "unbounded")) {
        q1.size = q2.size = 1000;
        both(queues, queues);
    } else if (!strcmp(what, "event")) {
        both(setter, waiter);
    } else if (!strcmp(what, "drain")) {
        both(tasks, tasks);
        drain(&r1);
        drain(&r2);
    } else if (!strcmp(what, "pool")) {
        both(pools, pools);
    } else if (!strcmp(what, "pool-full")) {
        /* Both are taken, and a third thread waits. */
        struct pool *all[] = { &p1, &p2 };
        for (int i = 0; i < 2; i++) {
            pthread_t t, u;
            pthread_create(&t, NULL, hold_until_waited_for, all[i]);
            pthread_create(&u, NULL, hold_until_waited_for, all[i]);
            await(2);
            acquire(all[i]);
            release(all[i]);
            pthread_join(t, NULL);
            pthread_join(u, NULL);
            atomic_store(&turn, 0);
        }
        both(pools, pools);
    } else if (!strcmp(what, "token")) {
        both(writer, reader);
    } else if (!strcmp(what, "token-contended")) {
        waits_for_other = true;
        both(writer, reader);
    } else {
        both(makers, makers);
    }
    puts("done");
    return 0;
}
