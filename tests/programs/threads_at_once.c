/* As many threads as the argument says, all alive at once, each of which takes the one lock twice: before a barrier and
 * after it. Prints how many acquisitions that were. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;
static int total;

static void *take(void *unused)
{
	(void)unused;
	for (int round = 0; round < 2; round++) {
		pthread_mutex_lock(&lock);
		total++;
		pthread_mutex_unlock(&lock);
		if (round == 0)
			pthread_barrier_wait(&all);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1000;
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	pthread_barrier_init(&all, NULL, threads);
	pthread_t *ids = malloc(threads * sizeof *ids);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], &small, take, NULL))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("%d\n", total);
	pthread_barrier_destroy(&all);
	free(ids);
	return 0;
}
