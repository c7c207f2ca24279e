/* Takes and posts a semaphore SEMAPHORES times, and signals and waits for a condition CONDITIONS times. The deadline of each wait is
 * past, so none of them sleeps.
 *
 *   cost_waits SEMAPHORES CONDITIONS
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

/* With two threads the C library takes locks as in any other program. */
static void *nothing(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	const struct timespec past = {0};
	pthread_t thread;

	if (argc != 3 || pthread_create(&thread, NULL, nothing, NULL) || sem_init(&semaphore, 0, 1))
		return 2;
	for (long i = atol(argv[1]); i > 0; i--) {
		sem_wait(&semaphore);
		sem_post(&semaphore);
	}
	pthread_mutex_lock(&mutex);
	for (long i = atol(argv[2]); i > 0; i--) {
		pthread_cond_signal(&cond);
		pthread_cond_timedwait(&cond, &mutex, &past);
	}
	pthread_mutex_unlock(&mutex);
	sem_destroy(&semaphore);
	return pthread_join(thread, NULL);
}
