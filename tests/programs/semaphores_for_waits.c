/* One function makes semaphores that begin at 1. They hand something over, as CPython's do that it makes for each wait: a
 * thread takes one, takes a mutex within it, and waits for the semaphore again, until another thread posts it. Afterwards
 * the same function makes pairs that are locks, and are taken in both orders.
 *
 *   semaphores_for_waits WAITS PAIRS
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static pthread_mutex_t M = PTHREAD_MUTEX_INITIALIZER;
static sem_t asked;
static sem_t *posted;

static __attribute__((noinline)) sem_t *make(void)
{
	sem_t *semaphore = malloc(sizeof *semaphore);

	sem_init(semaphore, 0, 1);
	return semaphore;
}

static void drop(sem_t *semaphore)
{
	sem_destroy(semaphore);
	free(semaphore);
}

static void *post(void *arg)
{
	for (long i = (long)arg; i > 0; i--) {
		sem_wait(&asked);
		sem_post(posted);
	}
	return NULL;
}

static void *in_order(void *arg)
{
	sem_t **pair = arg;

	sem_wait(pair[0]);
	sem_wait(pair[1]);
	sem_post(pair[1]);
	sem_post(pair[0]);
	return NULL;
}

static void by_a_thread(sem_t *first, sem_t *second)
{
	sem_t *pair[] = { first, second };
	pthread_t thread;

	pthread_create(&thread, NULL, in_order, pair);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	long waits = argc > 1 ? atol(argv[1]) : 0;
	long pairs = argc > 2 ? atol(argv[2]) : 0;
	pthread_t poster;

	sem_init(&asked, 0, 0);
	pthread_create(&poster, NULL, post, (void *)waits);
	for (long i = 0; i < waits + 2 * pairs; i++) {
		sem_t *one = make();

		if (i < waits) {
			sem_wait(one);
			pthread_mutex_lock(&M);
			pthread_mutex_unlock(&M);
			posted = one;
			sem_post(&asked);
			sem_wait(one);
			drop(one);
		} else {
			static sem_t *pair[2];

			pair[(i - waits) % 2] = one;
			if ((i - waits) % 2 == 0)
				continue;
			by_a_thread(pair[0], pair[1]);
			by_a_thread(pair[1], pair[0]);
			drop(pair[0]);
			drop(pair[1]);
		}
	}
	pthread_join(poster, NULL);
	return 0;
}
