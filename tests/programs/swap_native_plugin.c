/* A library with locks of its own, loaded and unloaded by swap_native.c. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER;
static long n;
static pthread_mutex_t z = PTHREAD_MUTEX_INITIALIZER;

static void *w2(void *p)
{
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&a);
		pthread_rwlock_wrlock(&r);
		n++;
		pthread_rwlock_unlock(&r);
		pthread_mutex_unlock(&a);
		pthread_rwlock_rdlock(&r);
		pthread_rwlock_unlock(&r);
		pthread_mutex_lock(&z);
		pthread_mutex_unlock(&z);
	}
	return 0;
}

long use(void)
{
	n = 0;
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(t + i, 0, w2, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	return n;
}
