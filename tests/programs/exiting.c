/* Threads that end.
 *
 *   exiting returned   returns with a lock held
 *   exiting exited     calls pthread_exit with a lock held
 *   exiting cancelled  is cancelled with a lock held
 *   exiting robust     returns with a robust mutex held: its next owner learns of it, so that is clean
 *   exiting cleanup    is cancelled in a condition wait, and its cleanup handler unlocks: clean
 *   exiting kept       the same with a second lock, taken after the wait's mutex
 *   exiting joining    is cancelled while it joins another thread, which is joined later: clean
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "../conformance/older_glibc.h"

static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t shelf;
static pthread_mutex_t index_ = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static sem_t here, never;

static void *returns(void *arg)
{
	pthread_setname_np(pthread_self(), "clerk");
	pthread_mutex_lock(arg);
	return NULL;
}

static void *exits(void *arg)
{
	pthread_setname_np(pthread_self(), "clerk");
	pthread_mutex_lock(arg);
	pthread_exit(NULL);
}

static void *sleeps(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "clerk");
	pthread_mutex_lock(&journal);
	sem_post(&here);
	sem_wait(&never); /* a cancellation point */
	pthread_mutex_unlock(&journal);
	return NULL;
}

static void unlock(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

static void *waits(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "clerk");
	pthread_mutex_lock(&journal);
	pthread_cleanup_push(unlock, &journal);
	sem_post(&here);
	for (;;)
		pthread_cond_wait(&ready, &journal);
	pthread_cleanup_pop(1);
	return NULL;
}

static void *waits_with_index(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "clerk");
	pthread_mutex_lock(&journal);
	pthread_cleanup_push(unlock, &journal);
	pthread_mutex_lock(&index_);
	pthread_cleanup_push(unlock, &index_);
	sem_post(&here);
	for (;;)
		pthread_cond_wait(&ready, &journal);
	pthread_cleanup_pop(1);
	pthread_cleanup_pop(1);
	return NULL;
}

static void *sleeps_free(void *arg)
{
	(void)arg;
	sem_wait(&never);
	pthread_mutex_lock(&journal);
	pthread_mutex_unlock(&journal);
	return NULL;
}

static void *joins(void *arg)
{
	sem_post(&here);
	pthread_join(*(pthread_t *)arg, NULL);
	return NULL;
}

static void run(void *(*start)(void *), void *arg, int cancel)
{
	pthread_t thread;

	pthread_create(&thread, NULL, start, arg);
	if (cancel) {
		sem_wait(&here);
		pthread_cancel(thread);
	}
	pthread_join(thread, NULL);
}

static int recover(void)
{
	int result = pthread_mutex_lock(&shelf);

	printf("%s\n", strerrorname_np(result));
	pthread_mutex_consistent(&shelf);
	pthread_mutex_unlock(&shelf);
	return pthread_mutex_lock(&shelf) || pthread_mutex_unlock(&shelf);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "returned";
	int result = 0;

	sem_init(&here, 0, 0);
	sem_init(&never, 0, 0);
	if (!strcmp(how, "returned")) {
		run(returns, &journal, 0);
	} else if (!strcmp(how, "exited")) {
		run(exits, &journal, 0);
	} else if (!strcmp(how, "cancelled")) {
		run(sleeps, NULL, 1);
	} else if (!strcmp(how, "robust")) {
		pthread_mutexattr_t attr;
		pthread_mutexattr_init(&attr);
		pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
		pthread_mutex_init(&shelf, &attr);
		run(returns, &shelf, 0);
		result = recover();
	} else if (!strcmp(how, "joining")) {
		pthread_t sleeper;
		pthread_create(&sleeper, NULL, sleeps_free, NULL);
		run(joins, &sleeper, 1);
		sem_post(&never);
		pthread_join(sleeper, NULL);
	} else {
		run(!strcmp(how, "kept") ? waits_with_index : waits, NULL, 1);
		result = pthread_mutex_lock(&journal) || pthread_mutex_unlock(&journal);
		result |= pthread_mutex_lock(&index_) || pthread_mutex_unlock(&index_);
	}
	puts("the end");
	return result;
}
