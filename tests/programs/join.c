/* The main thread joins a worker with a lock held that the worker needs: hangs for certain.
 *
 *   join worker  the worker waits last, for the lock
 *   join joiner  the main thread waits last, for the worker
 */
#include <pthread.h>
#include "asleep.h"
#include <string.h>
#include <unistd.h>

static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;
static int worker_last;
static atomic_int main_id, worker_id;

static void *worker(void *arg)
{
	(void)arg;
	atomic_store(&worker_id, thread_id());
	if (worker_last)
		await_blocked(&main_id);
	pthread_mutex_lock(&state);
	pthread_mutex_unlock(&state);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	worker_last = argc > 1 && !strcmp(argv[1], "worker");
	pthread_mutex_lock(&state);
	atomic_store(&main_id, thread_id());
	pthread_create(&thread, NULL, worker, NULL);
	if (!worker_last)
		await_blocked(&worker_id);
	pthread_join(thread, NULL);
	pthread_mutex_unlock(&state);
	return 0;
}
