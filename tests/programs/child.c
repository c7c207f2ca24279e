/* A child of other programs: takes a lock in two threads, prints what it was given and ends with it.
 *
 *   child [NUMBER]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *work(void *unused)
{
	(void)unused;
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&lock);
		count++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;
	if (pthread_create(&other, NULL, work, NULL))
		return 100;
	work(NULL);
	pthread_join(other, NULL);
	printf("%d, %s\n", count, argc > 1 ? argv[1] : "none");
	return argc > 1 ? atoi(argv[1]) : 0;
}
