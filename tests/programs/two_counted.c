/* Two threads, one after the other, take two mutexes nested and read under a reader-writer lock: so many times that
 * every count of a meter is known, and nothing ever waits for a lock. */
#include <pthread.h>

enum { PAIRS = 1000, READS = 100 };

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;

static void *work(void *arg)
{
	for (int i = 0; i < PAIRS; i++) {
		pthread_mutex_lock(&outer);
		pthread_mutex_lock(&inner);
		pthread_mutex_unlock(&inner);
		pthread_mutex_unlock(&outer);
	}
	for (int i = 0; i < READS; i++) {
		pthread_rwlock_rdlock(&table);
		pthread_rwlock_unlock(&table);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	work(NULL);
	return 0;
}
