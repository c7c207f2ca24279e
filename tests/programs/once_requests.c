/* N threads, one after the other. Each calls pthread_once several times, for a control whose routine has
 * run and has taken a lock. The last one ends the process. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;

static void routine(void)
{
	pthread_mutex_lock(&taken);
	pthread_mutex_unlock(&taken);
}

static void *serve(void *is_last)
{
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&held);
		pthread_once(&once, routine);
		pthread_mutex_unlock(&held);
	}
	if (is_last)
		_exit(0);
	return NULL;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1;
	pthread_once(&once, routine);
	for (long i = 1; i <= count; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, serve, i == count ? &once : NULL))
			abort();
		pthread_join(thread, NULL);
	}
	return 1;
}
