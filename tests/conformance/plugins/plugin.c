/* A library with locks in it, to be loaded and unloaded. */
#define _GNU_SOURCE
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int constructed;

__attribute__((constructor)) static void lock_when_loaded(void)
{
	constructed = pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&mutex) != 0 && pthread_mutex_unlock(&mutex) == 0;
}

__attribute__((destructor)) static void lock_when_unloaded(void)
{
	pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

int was_constructed(void)
{
	return constructed;
}

int lock(void)
{
	return pthread_mutex_lock(&mutex);
}

int unlock(void)
{
	return pthread_mutex_unlock(&mutex);
}
