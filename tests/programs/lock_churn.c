/* THREADS threads, each of which TIMES times creates a lock, takes it and one that all share, and destroys it: every
 * lock is new to the tool. Prints how many acquisitions that were. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static long times, total;

static void *churn(void *unused)
{
	(void)unused;
	for (long i = 0; i < times; i++) {
		pthread_mutex_t own;
		pthread_mutex_init(&own, NULL);
		pthread_mutex_lock(&own);
		pthread_mutex_lock(&shared);
		total += 2;
		pthread_mutex_unlock(&shared);
		pthread_mutex_unlock(&own);
		pthread_mutex_destroy(&own);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[1]) : 48;
	times = argc > 2 ? atol(argv[2]) : 200;
	pthread_t *ids = calloc(threads, sizeof *ids);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, churn, NULL))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("%ld\n", total);
	free(ids);
	return 0;
}
