/* Threads that are joined with a lock held. Nothing hangs: by turns that no tool sees, the joined thread is done with
 * the lock before.
 *
 *   join_held taken     the worker takes the lock that is held while it is joined
 *   join_held released  the same, released before the join
 *   join_held other     the worker takes another lock
 *   join_held timed     as taken, joined with a deadline
 *   join_held tried     as taken, joined by trying
 *   join_held posted    as taken, but the worker posts a semaphore after it, which is waited for before the lock is taken
 *   join_held chain     the worker joins a second one, which takes the lock
 *   join_held cycle     the worker takes a lock in which a third thread takes the one that is held
 *   join_held cancelled as taken, but the worker then waits until it is cancelled, which it is before the lock is taken
 *   join_held semaphore as taken, with a semaphore that begins at 1 for a lock
 *   join_held given     the same, but what the worker takes is posted for it: the semaphore is no lock
 *   join_held c11       as taken, with C11's threads
 *   join_held announces the worker says under the lock that it ends, for which nobody has to wait
 *   join_held signals   the worker signals under the lock again and again, to say other things
 *   join_held users     the worker leaves a group, and the last one to leave it joins it
 *   join_held enters    the worker enters a group, which the main thread leaves for it, and for itself
 */
#define _GNU_SOURCE
#include "baton.h"
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static mtx_t registry;
static sem_t ready;
static baton done;

static void use(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
}

static void *worker(void *lock)
{
	use(lock);
	baton_pass(&done);
	return NULL;
}

static void *poster(void *arg)
{
	(void)arg;
	use(&state);
	sem_post(&ready);
	return NULL;
}

static void *waits_for_cancellation(void *lock)
{
	use(lock);
	baton_pass(&done);
	for (;;)
		pause();
	return NULL;
}

static sem_t slot;

static void *slot_user(void *arg)
{
	(void)arg;
	sem_wait(&slot);
	sem_post(&slot);
	baton_pass(&done);
	return NULL;
}

static void *taker(void *arg)
{
	(void)arg;
	sem_wait(&slot);
	baton_pass(&done);
	return NULL;
}

static int with_given_semaphore(void)
{
	pthread_t thread;
	sem_init(&slot, 0, 1);
	pthread_create(&thread, NULL, taker, NULL);
	baton_take(&done);
	sem_post(&slot);
	sem_wait(&slot);
	pthread_join(thread, NULL);
	sem_post(&slot);
	sem_destroy(&slot);
	return 0;
}

static int with_semaphore(void)
{
	pthread_t thread;
	sem_init(&slot, 0, 1);
	pthread_create(&thread, NULL, slot_user, NULL);
	baton_take(&done);
	sem_wait(&slot);
	pthread_join(thread, NULL);
	sem_post(&slot);
	sem_destroy(&slot);
	return 0;
}

static void *foreman(void *arg)
{
	pthread_t second;
	(void)arg;
	pthread_create(&second, NULL, worker, &state);
	pthread_join(second, NULL);
	return NULL;
}

static void *nests(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&queue);
	use(&state);
	pthread_mutex_unlock(&queue);
	baton_pass(&done);
	return NULL;
}

static int c11_worker(void *arg)
{
	(void)arg;
	mtx_lock(&registry);
	mtx_unlock(&registry);
	baton_pass(&done);
	return 0;
}

static int with_c11(void)
{
	thrd_t thread;
	mtx_init(&registry, mtx_plain);
	thrd_create(&thread, c11_worker, NULL);
	baton_take(&done);
	mtx_lock(&registry);
	thrd_join(thread, NULL);
	mtx_unlock(&registry);
	mtx_destroy(&registry);
	return 0;
}

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int steps;
static int users = 2;
static pthread_t leaver;

static void step(void)
{
	pthread_mutex_lock(&state);
	steps++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&state);
}

static void *stepper(void *times)
{
	for (int i = 0; i < *(int *)times; i++)
		step();
	baton_pass(&done);
	return NULL;
}

static int with_steps(int times)
{
	pthread_t thread;
	pthread_create(&thread, NULL, stepper, &times);
	baton_take(&done);
	pthread_mutex_lock(&state);
	while (steps < times)
		pthread_cond_wait(&changed, &state);
	pthread_join(thread, NULL);
	pthread_mutex_unlock(&state);
	return 0;
}

static void leave(void)
{
	pthread_mutex_lock(&state);
	if (--users == 0)
		pthread_join(leaver, NULL);
	pthread_mutex_unlock(&state);
}

static void *leaves(void *arg)
{
	(void)arg;
	leave();
	baton_pass(&done);
	return NULL;
}

static void *enters(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&state);
	users++;
	pthread_mutex_unlock(&state);
	baton_pass(&done);
	return NULL;
}

static int with_entered(void)
{
	users = 1;
	pthread_create(&leaver, NULL, enters, NULL);
	baton_take(&done);
	leave();
	leave();
	return 0;
}

static int with_users(void)
{
	pthread_create(&leaver, NULL, leaves, NULL);
	baton_take(&done);
	leave();
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "taken";
	void *(*start)(void *) = worker;
	void *lock = &state;
	pthread_t thread, third;

	if (!strcmp(how, "c11"))
		return with_c11();
	if (!strcmp(how, "semaphore"))
		return with_semaphore();
	if (!strcmp(how, "given"))
		return with_given_semaphore();
	if (!strcmp(how, "announces"))
		return with_steps(1);
	if (!strcmp(how, "signals"))
		return with_steps(3);
	if (!strcmp(how, "users"))
		return with_users();
	if (!strcmp(how, "enters"))
		return with_entered();
	if (!strcmp(how, "other") || !strcmp(how, "cycle"))
		lock = &queue;
	if (!strcmp(how, "posted"))
		start = poster;
	if (!strcmp(how, "cancelled"))
		start = waits_for_cancellation;
	if (!strcmp(how, "chain"))
		start = foreman;
	sem_init(&ready, 0, 0);
	pthread_create(&thread, NULL, start, lock);
	if (!strcmp(how, "posted"))
		sem_wait(&ready);
	else
		baton_take(&done);
	if (!strcmp(how, "cycle")) {
		pthread_create(&third, NULL, nests, NULL);
		baton_take(&done);
	}
	if (!strcmp(how, "cancelled"))
		pthread_cancel(thread);
	pthread_mutex_lock(&state);
	if (!strcmp(how, "released"))
		pthread_mutex_unlock(&state);
	if (!strcmp(how, "timed")) {
		struct timespec late = { .tv_sec = time(NULL) + 3600 };
		pthread_timedjoin_np(thread, NULL, &late);
	} else if (!strcmp(how, "tried")) {
		while (pthread_tryjoin_np(thread, NULL) != 0)
			sched_yield();
	} else {
		pthread_join(thread, NULL);
	}
	if (strcmp(how, "released"))
		pthread_mutex_unlock(&state);
	if (!strcmp(how, "cycle"))
		pthread_join(third, NULL);
	sem_destroy(&ready);
	return 0;
}
