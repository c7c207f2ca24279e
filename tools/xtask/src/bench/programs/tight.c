/* Locks and unlocks one mutex so often, and does nothing else. A second thread sleeps: with one thread alone the C library
 * locks without atomic instructions.
 *
 *   tight PAIRS
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *idle(void *unused)
{
	pause();
	return unused;
}

int main(int argc, char **argv)
{
	long pairs = argc > 1 ? atol(argv[1]) : 1;
	pthread_t thread;
	pthread_create(&thread, NULL, idle, NULL);
	for (long i = 0; i < pairs; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return 0;
}
