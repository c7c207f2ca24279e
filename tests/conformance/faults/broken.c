/* Preloaded libraries as they must not be: each is this file with one fault. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#if defined LEAVES_ERRNO
/* As a library that calls the system before it locks. */
int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	errno = EAGAIN;
	return NEXT(pthread_mutex_lock)(mutex);
}
#elif defined TRIES_FIRST
/* As a library that sees to it that waits are known before they begin. */
int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline)
{
	int result = NEXT(pthread_mutex_trylock)(mutex);
	return result == EBUSY ? NEXT(pthread_mutex_clocklock)(mutex, clock, deadline) : result;
}
#elif defined IS_BUSY
int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	(void)mutex;
	return EBUSY;
}
#elif defined WRITES
/* Changes nothing but what is written, and when. */
#include <unistd.h>
int pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
	if (write(1, "destroyed\n", 10) != 10)
		return EIO;
	return NEXT(pthread_rwlock_destroy)(lock);
}
#elif defined DIES
int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	return *(volatile int *)((long)mutex & 0);
}
#elif !defined NOTHING
#error "name a fault"
#endif
