/* What is no lock but deadlocks as one.
 *
 *   reclaim     a cache's lock is taken in reclaim, and held where memory is asked for; one thread is enough
 *   outside     it is released first
 *   completion  a thread waits for another's work with a lock held that the other needs to report it
 *   separate    with another lock
 */
#define _GNU_SOURCE
#include <lockwright.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t jobs = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int done, told;

/* Whatever asks for memory may have to reclaim some first: every allocation says so. */
static void *allocate(size_t size)
{
	lw_resource_acquire("reclaim");
	lw_resource_release("reclaim");
	return malloc(size);
}

static void reclaim(void)
{
	lw_resource_acquire("reclaim");
	pthread_mutex_lock(&cache);
	pthread_mutex_unlock(&cache);
	lw_resource_release("reclaim");
}

static void await(void)
{
	lw_wait_begin(&done);
	while (!atomic_load(&done))
		sched_yield();
	lw_wait_end(&done);
}

static void *worker(void *arg)
{
	pthread_mutex_t *lock = arg;
	pthread_mutex_lock(lock);
	lw_complete(&done);
	atomic_store(&done, 1);
	pthread_mutex_unlock(lock);
	atomic_store(&told, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "reclaim") || !strcmp(what, "outside")) {
		void *block = NULL;
		int inside = !strcmp(what, "reclaim");
		reclaim();
		if (!inside)
			block = allocate(16);
		pthread_mutex_lock(&cache);
		if (inside)
			block = allocate(16);
		pthread_mutex_unlock(&cache);
		free(block);
	} else if (!strcmp(what, "completion") || !strcmp(what, "separate")) {
		pthread_t thread;
		int same = !strcmp(what, "completion");
		/* This time the worker is done before it is waited for. */
		if (pthread_create(&thread, NULL, worker, same ? &jobs : &log_lock) != 0)
			abort();
		while (!atomic_load(&told))
			sched_yield();
		pthread_mutex_lock(&jobs);
		await();
		pthread_mutex_unlock(&jobs);
		pthread_join(thread, NULL);
	} else {
		return 2;
	}
	printf("%s: done\n", what);
	return 0;
}
