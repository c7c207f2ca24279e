/* A child that takes no lock until two of its threads do, both at once. */
#include "meter.h"
#include <sys/wait.h>

#define ROUNDS 20000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int here;

static SITE void *worker(void *arg)
{
	atomic_fetch_add(&here, 1);
	while (atomic_load(&here) < 2)
		;
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

int main(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		pthread_t threads[2];
		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, worker, NULL);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		_exit(0);
	}
	waitpid(child, &status, 0);
	truth("acquisitions", 2 * ROUNDS);
	truth("status", (uint64_t)status);
	return 0;
}
