/*
 * Much of something, of which the report is to say how much and to cost no more than in proportion.
 *
 *   many threads N    N threads, one after the other, each of which takes a lock
 *   many array N      N locks of one array, each of which is taken once (100,000 at most)
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t locks[100000];

static void *take(void *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc == 3 ? atol(argv[2]) : 0;
	int is_array = argc == 3 && !strcmp(argv[1], "array");

	if (n <= 0 || n > 100000)
		return 2;
	for (long i = 0; i < n; i++) {
		pthread_t thread;

		if (is_array) {
			take(&locks[i]);
			continue;
		}
		if (pthread_create(&thread, NULL, take, &lock) != 0) {
			perror("pthread_create");
			return 2;
		}
		pthread_join(thread, NULL);
	}
	return 0;
}
