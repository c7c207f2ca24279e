/* Another library that interposes functions of mutexes and reader-writer locks, and calls the C library's by their
 * other names, as libraries did that would not look them up. */
#define _GNU_SOURCE
#include <pthread.h>

#define STANDS(name, ...)                                                                                              \
	extern int other_##name(__VA_ARGS__);                                                                          \
	__asm__(".symver other_" #name ", __" #name "@GLIBC_2.2.5")

STANDS(pthread_mutex_init, pthread_mutex_t *, const pthread_mutexattr_t *);
STANDS(pthread_mutex_destroy, pthread_mutex_t *);
STANDS(pthread_mutex_lock, pthread_mutex_t *);
STANDS(pthread_mutex_trylock, pthread_mutex_t *);
STANDS(pthread_mutex_unlock, pthread_mutex_t *);
STANDS(pthread_rwlock_init, pthread_rwlock_t *, const pthread_rwlockattr_t *);
STANDS(pthread_rwlock_destroy, pthread_rwlock_t *);
STANDS(pthread_rwlock_rdlock, pthread_rwlock_t *);
STANDS(pthread_rwlock_wrlock, pthread_rwlock_t *);
STANDS(pthread_rwlock_unlock, pthread_rwlock_t *);

int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a)
{
	return other_pthread_mutex_init(m, a);
}

int pthread_mutex_destroy(pthread_mutex_t *m)
{
	return other_pthread_mutex_destroy(m);
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
	return other_pthread_mutex_lock(m);
}

int pthread_mutex_trylock(pthread_mutex_t *m)
{
	return other_pthread_mutex_trylock(m);
}

int pthread_mutex_unlock(pthread_mutex_t *m)
{
	return other_pthread_mutex_unlock(m);
}

int pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *a)
{
	return other_pthread_rwlock_init(l, a);
}

int pthread_rwlock_destroy(pthread_rwlock_t *l)
{
	return other_pthread_rwlock_destroy(l);
}

int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	return other_pthread_rwlock_rdlock(l);
}

int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	return other_pthread_rwlock_wrlock(l);
}

int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	return other_pthread_rwlock_unlock(l);
}
