/* Semaphores as locks, and semaphores that look like locks until they hand something over.
 *
 *   semaphores abba       two semaphores in both orders, by two threads
 *   semaphores mixed      a semaphore and a mutex in both orders
 *   semaphores trylock    the same two semaphores, of which the second is tried for only
 *   semaphores try-first  the same, but where a try fails the thread waits, as it once does
 *   semaphores deadlock   both threads hold one and wait for the other's
 *   semaphores slots      producer and consumer: the free slot is a semaphore that begins at 1
 *   semaphores baton      in both orders like locks, until another thread posts one of them
 *   semaphores pool       many workers, of which a semaphore lets some in at a time
 *   semaphores handler    taken by the main thread and posted by a signal's handler
 *   semaphores turns      a thread waits for what it has taken itself, until another posts it
 *   semaphores cancel     a thread is cancelled while it waits
 *   semaphores lifetime   the same memory as ever new semaphores, destroyed or not, taken or not
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "asleep.h"
#include "baton.h"

enum { ROUNDS = 100, WORKERS = 4 };

static sem_t S, T;
static pthread_mutex_t M = PTHREAD_MUTEX_INITIALIZER;
static baton first_done, second_done;
static struct meeting both_hold;
static atomic_int other_id;

struct named {
	const char *name;
	void *(*run)(void *);
};

/* By itself: a thread that names it from outside may be late. */
static void *run_named(void *arg)
{
	const struct named *named = arg;

	pthread_setname_np(pthread_self(), named->name);
	return named->run(NULL);
}

static void in_two_threads(void *(*first)(void *), void *(*second)(void *))
{
	struct named named[2] = { { "first", first }, { "second", second } };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run_named, &named[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void *s_then_t(void *arg)
{
	(void)arg;
	sem_wait(&S);
	sem_wait(&T);
	sem_post(&T);
	sem_post(&S);
	baton_pass(&first_done);
	baton_take(&second_done);
	return NULL;
}

static void *t_then_s(void *arg)
{
	(void)arg;
	baton_take(&first_done);
	sem_wait(&T);
	sem_wait(&S);
	sem_post(&S);
	sem_post(&T);
	baton_pass(&second_done);
	return NULL;
}

/* mixed */

static void *s_then_m(void *arg)
{
	(void)arg;
	sem_wait(&S);
	pthread_mutex_lock(&M);
	pthread_mutex_unlock(&M);
	sem_post(&S);
	baton_pass(&first_done);
	baton_take(&second_done);
	return NULL;
}

static void *m_then_s(void *arg)
{
	(void)arg;
	baton_take(&first_done);
	pthread_mutex_lock(&M);
	sem_wait(&S);
	sem_post(&S);
	pthread_mutex_unlock(&M);
	baton_pass(&second_done);
	return NULL;
}

/* trylock, try-first */

static int waits_where_it_fails;

static void take(sem_t *s)
{
	if (sem_trywait(s) && waits_where_it_fails)
		sem_wait(s);
}

static void *post_later(void *arg)
{
	baton_take(&first_done);
	usleep(20000);
	sem_post(arg);
	return NULL;
}

static void *hold_and_post(void *arg)
{
	sem_wait(&T);
	return post_later(arg);
}

/* Somebody else has it for a while: one try fails. */
static void contend(void)
{
	pthread_t holder;
	int value;

	pthread_create(&holder, NULL, hold_and_post, &T);
	do
		sem_getvalue(&T, &value);
	while (value);
	baton_pass(&first_done);
	take(&T);
	sem_post(&T);
	pthread_join(holder, NULL);
}

static void *s_then_try_t(void *arg)
{
	(void)arg;
	take(&S);
	take(&T);
	sem_post(&T);
	sem_post(&S);
	baton_pass(&first_done);
	baton_take(&second_done);
	return NULL;
}

static void *t_then_try_s(void *arg)
{
	(void)arg;
	baton_take(&first_done);
	take(&T);
	take(&S);
	sem_post(&S);
	sem_post(&T);
	baton_pass(&second_done);
	return NULL;
}

/* deadlock */

static void *hold_s_want_t(void *arg)
{
	(void)arg;
	sem_wait(&S);
	meeting_wait(&both_hold);
	await_blocked(&other_id); /* closes the ring last, so that the report is the same every time */
	sem_wait(&T);
	puts("not reached");
	return NULL;
}

static void *hold_t_want_s(void *arg)
{
	(void)arg;
	atomic_store(&other_id, thread_id());
	sem_wait(&T);
	meeting_wait(&both_hold);
	sem_wait(&S);
	puts("not reached");
	return NULL;
}

/* slots */

static sem_t slot_free, slot_full;
static int slot;

static void *produce(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		sem_wait(&slot_free);
		pthread_mutex_lock(&M);
		slot = i;
		pthread_mutex_unlock(&M);
		sem_post(&slot_full);
	}
	return NULL;
}

static void *consume(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		sem_wait(&slot_full);
		pthread_mutex_lock(&M);
		/* The wrong order, if it were a lock: but here it is free. */
		if (slot == i)
			sem_post(&slot_free);
		pthread_mutex_unlock(&M);
	}
	pthread_mutex_lock(&M);
	sem_wait(&slot_free);
	pthread_mutex_unlock(&M);
	return NULL;
}

/* baton */

static void *post_for_another(void *arg)
{
	t_then_s(arg);
	sem_post(&S);
	return NULL;
}

/* pool */

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		/* Either order: with more than one place nobody waits for somebody in particular. */
		sem_t *outer = i % 2 ? &S : &T, *inner = i % 2 ? &T : &S;
		sem_wait(outer);
		sem_wait(inner);
		sem_post(inner);
		sem_post(outer);
	}
	return NULL;
}

static void pool(void)
{
	pthread_t workers[WORKERS];

	sem_destroy(&S);
	sem_destroy(&T);
	sem_init(&S, 0, WORKERS);
	sem_init(&T, 0, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, work, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
}

/* handler */

static void on_signal(int number)
{
	(void)number;
	sem_post(&S);
}

static void handler(void)
{
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < ROUNDS; i++) {
		sem_wait(&S);
		pthread_mutex_lock(&M);
		pthread_mutex_unlock(&M);
		raise(SIGUSR1);
	}
	pthread_mutex_lock(&M);
	sem_wait(&S);
	pthread_mutex_unlock(&M);
}

/* turns */

static void *give_turn(void *arg)
{
	(void)arg;
	baton_take(&first_done);
	usleep(20000);
	sem_post(&S);
	return NULL;
}

static void *take_turns(void *arg)
{
	(void)arg;
	sem_wait(&S);
	baton_pass(&first_done);
	sem_wait(&S);
	return NULL;
}

/* cancel */

static void *wait_for_ever(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&M);
	pthread_mutex_unlock(&M);
	baton_pass(&first_done);
	sem_wait(&S);
	return NULL;
}

static void cancel(void)
{
	pthread_t waiter;

	sem_wait(&S);
	pthread_create(&waiter, NULL, wait_for_ever, NULL);
	baton_take(&first_done);
	usleep(20000);
	pthread_cancel(waiter);
	pthread_join(waiter, NULL);
	sem_post(&S);
}

/* lifetime */

static void lifetime(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		sem_init(&S, 0, i % 3);
		if (i % 3)
			sem_wait(&S);
		pthread_mutex_lock(&M);
		pthread_mutex_unlock(&M);
		if (i % 4 == 0)
			sem_post(&S);
		errno = 7;
		if (sem_trywait(&S) ? errno != EAGAIN : errno != 7)
			puts("errno is not what it should be");
		if (i % 2)
			sem_destroy(&S);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	sem_init(&S, 0, 1);
	sem_init(&T, 0, 1);
	sem_init(&slot_free, 0, 1);
	sem_init(&slot_full, 0, 0);
	both_hold.size = 2;
	if (!strcmp(how, "abba")) {
		in_two_threads(s_then_t, t_then_s);
	} else if (!strcmp(how, "mixed")) {
		in_two_threads(s_then_m, m_then_s);
	} else if (!strcmp(how, "trylock")) {
		in_two_threads(s_then_try_t, t_then_try_s);
	} else if (!strcmp(how, "try-first")) {
		waits_where_it_fails = 1;
		contend();
		in_two_threads(s_then_try_t, t_then_try_s);
	} else if (!strcmp(how, "deadlock")) {
		in_two_threads(hold_s_want_t, hold_t_want_s);
	} else if (!strcmp(how, "slots")) {
		in_two_threads(produce, consume);
	} else if (!strcmp(how, "baton")) {
		in_two_threads(s_then_t, post_for_another);
	} else if (!strcmp(how, "pool")) {
		pool();
	} else if (!strcmp(how, "handler")) {
		handler();
	} else if (!strcmp(how, "turns")) {
		in_two_threads(take_turns, give_turn);
	} else if (!strcmp(how, "cancel")) {
		cancel();
	} else if (!strcmp(how, "lifetime")) {
		lifetime();
	} else {
		return 2;
	}
	puts("the end");
	return 0;
}
