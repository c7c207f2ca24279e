/* Threads that are joined with a lock held, where something might show that they no longer need it, and does, or does not.
 *
 *   again    a library is initialised twice: the second time it joins the thread of the first, with the lock held
 *   counted  the last user joins, as the count tells it under the lock: the other is past it
 *   died     the lock is robust, and its owner died: so the thread that is joined has ended
 *   consistent  the same, and the lock is made consistent first
 *   lived    the lock is robust, and nobody died
 *   another  the lock is robust, and its owner died, but another thread is joined, which takes the lock
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t options = PTHREAD_MUTEX_INITIALIZER, robust;
static pthread_t worker;
static int started, users = 2, is_worker_out;
static atomic_int has_worked;

static void await_work(void)
{
	while (!has_worked)
		sched_yield();
}

static void *work(void *unused)
{
	pthread_mutex_lock(&options);
	pthread_mutex_unlock(&options);
	has_worked = 1;
	return unused;
}

static void init(void)
{
	pthread_mutex_lock(&options);
	if (started)
		pthread_join(worker, NULL);
	started = 1;
	pthread_mutex_unlock(&options);
	pthread_create(&worker, NULL, work, NULL);
}

static void leave(int is_main)
{
	pthread_mutex_lock(&options);
	if (--users == 0 && is_main && is_worker_out)
		pthread_join(worker, NULL);
	if (!is_main)
		is_worker_out = 1;
	pthread_mutex_unlock(&options);
}

static void *leaves(void *unused)
{
	leave(0);
	has_worked = 1;
	return unused;
}

static void *keeps(void *how)
{
	pthread_mutex_lock(&robust);
	if (!strcmp(how, "lived"))
		pthread_mutex_unlock(&robust);
	has_worked = 1;
	return NULL;
}

static void with_robust(char *how)
{
	pthread_mutexattr_t attributes;
	pthread_t thread, other;
	int error;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attributes);
	pthread_mutexattr_destroy(&attributes);
	if (!strcmp(how, "another")) {
		pthread_create(&other, NULL, keeps, "lived");
		await_work();
		has_worked = 0;
	}
	pthread_create(&thread, NULL, keeps, how);
	await_work();
	error = pthread_mutex_lock(&robust);
	if (error == EOWNERDEAD && !strcmp(how, "consistent"))
		pthread_mutex_consistent(&robust);
	if (!strcmp(how, "another"))
		pthread_join(other, NULL);
	pthread_join(thread, NULL);
	if (error == EOWNERDEAD && strcmp(how, "consistent"))
		pthread_mutex_consistent(&robust);
	pthread_mutex_unlock(&robust);
	pthread_mutex_destroy(&robust);
}

int main(int argc, char **argv)
{
	char *how = argc > 1 ? argv[1] : "again";

	if (!strcmp(how, "again")) {
		init();
		await_work();
		init();
		pthread_join(worker, NULL);
	} else if (!strcmp(how, "counted")) {
		pthread_mutex_lock(&options);
		pthread_mutex_unlock(&options);
		pthread_create(&worker, NULL, leaves, NULL);
		await_work();
		leave(1);
	} else {
		with_robust(how);
	}
	puts("the end");
	return 0;
}
