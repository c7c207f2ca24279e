/* A robust mutex whose owner ends with it held, and which a trylock takes then.
   "made": it is made consistent, and its dead owner is joined with it held: clean. "left": it is not made consistent.
   "tried": the thread that ends took it by a trylock, too: clean. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex;
static sem_t taken;

static void *locks(void *arg)
{
	pthread_mutex_lock(&mutex);
	sem_post(&taken);
	return arg;
}

static void *tries(void *arg)
{
	pthread_mutex_trylock(&mutex);
	sem_post(&taken);
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "made";
	pthread_mutexattr_t attr;
	pthread_t thread;

	sem_init(&taken, 0, 0);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_create(&thread, NULL, strcmp(how, "tried") ? locks : tries, NULL);
	sem_wait(&taken);
	while (pthread_mutex_trylock(&mutex) != EOWNERDEAD)
		sched_yield();
	if (strcmp(how, "left"))
		pthread_mutex_consistent(&mutex);
	pthread_join(thread, NULL);
	pthread_mutex_unlock(&mutex);
	pthread_mutex_destroy(&mutex);
	sem_destroy(&taken);
	puts("the end");
	return 0;
}
