/* What dlopen_race.c loads: it takes locks when it is loaded, used and unloaded. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

__attribute__((constructor)) static void loaded(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

__attribute__((destructor)) static void unloaded(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

int use(void)
{
	pthread_mutex_lock(&lock);
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	pthread_mutex_unlock(&lock);
	return 0;
}
