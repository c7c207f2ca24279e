/* Another library that interposes pthread_mutex_lock and free, and calls the next. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static int (*next)(pthread_mutex_t *);

	if (!next)
		next = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	return next(mutex);
}

void free(void *block)
{
	static void (*next)(void *);

	if (!next)
		next = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	next(block);
}
