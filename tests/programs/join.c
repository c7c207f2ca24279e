/* The main thread joins a worker with a lock held that the worker needs: hangs for certain. */
#define _GNU_SOURCE
#include <pthread.h>

static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&state);
	pthread_mutex_unlock(&state);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	pthread_mutex_lock(&state);
	pthread_create(&thread, NULL, worker, NULL);
	pthread_join(thread, NULL);
	pthread_mutex_unlock(&state);
	return 0;
}
