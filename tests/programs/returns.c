/* What every locking call returns in the cases that are not success, and that errno is left alone. Printed; the
 * lines must be the same with and without the tool. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "../conformance/older_glibc.h"

#define SHOW(call)                                                                                                     \
	do {                                                                                                           \
		errno = 4711;                                                                                          \
		int result = (call);                                                                                   \
		printf("%-60s %s%s\n", #call, result ? strerrorname_np(result) : "0", errno == 4711 ? "" : " errno");  \
	} while (0)

static struct timespec in(clockid_t clock, long ms)
{
	struct timespec t;
	clock_gettime(clock, &t);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void in_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;
	pthread_create(&thread, NULL, fn, arg);
	pthread_join(thread, NULL);
}

static pthread_mutex_t mutex_of(int type, int robust, int protocol)
{
	pthread_mutex_t mutex;
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setrobust(&attr, robust);
	pthread_mutexattr_setprotocol(&attr, protocol);
	SHOW(pthread_mutex_init(&mutex, &attr));
	return mutex;
}

static void *contend_mutex(void *arg)
{
	pthread_mutex_t *mutex = arg;
	struct timespec real = in(CLOCK_REALTIME, 2), mono = in(CLOCK_MONOTONIC, 4);
	SHOW(pthread_mutex_trylock(mutex));
	SHOW(pthread_mutex_timedlock(mutex, &real));
	SHOW(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &mono));
	real.tv_nsec = -1;
	SHOW(pthread_mutex_timedlock(mutex, &real));
	return NULL;
}

static void *unlock_others(void *arg)
{
	SHOW(pthread_mutex_unlock(arg));
	return NULL;
}

static void *die_with_lock(void *arg)
{
	SHOW(pthread_mutex_lock(arg));
	return NULL;
}

static void *contend_rwlock(void *arg)
{
	pthread_rwlock_t *rwlock = arg;
	struct timespec real = in(CLOCK_REALTIME, 2), mono = in(CLOCK_MONOTONIC, 4);
	SHOW(pthread_rwlock_tryrdlock(rwlock));
	SHOW(pthread_rwlock_trywrlock(rwlock));
	SHOW(pthread_rwlock_timedrdlock(rwlock, &real));
	SHOW(pthread_rwlock_timedwrlock(rwlock, &real));
	SHOW(pthread_rwlock_clockrdlock(rwlock, CLOCK_MONOTONIC, &mono));
	SHOW(pthread_rwlock_clockwrlock(rwlock, CLOCK_MONOTONIC, &mono));
	return NULL;
}

static void *contend_spin(void *arg)
{
	SHOW(pthread_spin_trylock(arg));
	return NULL;
}

static const char *c11(int result)
{
	return result == thrd_success ? "success" : result == thrd_busy ? "busy" : result == thrd_timedout ? "timedout" : "error";
}

static void *contend_c11(void *arg)
{
	struct timespec real = in(CLOCK_REALTIME, 2);
	printf("mtx_trylock %s\n", c11(mtx_trylock(arg)));
	printf("mtx_timedlock %s\n", c11(mtx_timedlock(arg, &real)));
	return NULL;
}

static void mutexes(void)
{
	pthread_mutex_t normal = mutex_of(PTHREAD_MUTEX_NORMAL, 0, 0);
	SHOW(pthread_mutex_lock(&normal));
	SHOW(pthread_mutex_trylock(&normal));
	SHOW(pthread_mutex_destroy(&normal));
	in_thread(contend_mutex, &normal);
	SHOW(pthread_mutex_unlock(&normal));
	SHOW(pthread_mutex_destroy(&normal));

	pthread_mutex_t adaptive = mutex_of(PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0);
	SHOW(pthread_mutex_lock(&adaptive));
	in_thread(contend_mutex, &adaptive);
	SHOW(pthread_mutex_unlock(&adaptive));

	pthread_mutex_t errorcheck = mutex_of(PTHREAD_MUTEX_ERRORCHECK, 0, 0);
	SHOW(pthread_mutex_unlock(&errorcheck));
	SHOW(pthread_mutex_lock(&errorcheck));
	SHOW(pthread_mutex_lock(&errorcheck));
	SHOW(pthread_mutex_trylock(&errorcheck));
	in_thread(unlock_others, &errorcheck);
	in_thread(contend_mutex, &errorcheck);
	SHOW(pthread_mutex_unlock(&errorcheck));

	pthread_mutex_t recursive = mutex_of(PTHREAD_MUTEX_RECURSIVE, 0, 0);
	SHOW(pthread_mutex_lock(&recursive));
	SHOW(pthread_mutex_lock(&recursive));
	SHOW(pthread_mutex_trylock(&recursive));
	in_thread(unlock_others, &recursive);
	in_thread(contend_mutex, &recursive);
	SHOW(pthread_mutex_unlock(&recursive));
	SHOW(pthread_mutex_unlock(&recursive));
	SHOW(pthread_mutex_unlock(&recursive));
	SHOW(pthread_mutex_unlock(&recursive));

	pthread_mutex_t robust = mutex_of(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, 0);
	in_thread(die_with_lock, &robust);
	SHOW(pthread_mutex_lock(&robust));
	SHOW(pthread_mutex_consistent(&robust));
	SHOW(pthread_mutex_unlock(&robust));
	in_thread(die_with_lock, &robust);
	SHOW(pthread_mutex_trylock(&robust));
	SHOW(pthread_mutex_unlock(&robust));
	SHOW(pthread_mutex_lock(&robust));
	SHOW(pthread_mutex_consistent(&robust));

	pthread_mutex_t inherit = mutex_of(PTHREAD_MUTEX_ERRORCHECK, 0, PTHREAD_PRIO_INHERIT);
	SHOW(pthread_mutex_lock(&inherit));
	SHOW(pthread_mutex_lock(&inherit));
	in_thread(unlock_others, &inherit);
	SHOW(pthread_mutex_unlock(&inherit));

	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	SHOW(pthread_mutexattr_settype(&attr, 99));
}

static void rwlocks(void)
{
	pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
	SHOW(pthread_rwlock_wrlock(&rwlock));
	SHOW(pthread_rwlock_wrlock(&rwlock));
	SHOW(pthread_rwlock_rdlock(&rwlock));
	SHOW(pthread_rwlock_tryrdlock(&rwlock));
	in_thread(contend_rwlock, &rwlock);
	SHOW(pthread_rwlock_unlock(&rwlock));
	SHOW(pthread_rwlock_rdlock(&rwlock));
	SHOW(pthread_rwlock_rdlock(&rwlock));
	SHOW(pthread_rwlock_trywrlock(&rwlock));
	SHOW(pthread_rwlock_unlock(&rwlock));
	SHOW(pthread_rwlock_unlock(&rwlock));
	SHOW(pthread_rwlock_destroy(&rwlock));
}

static void conditions(void)
{
	pthread_mutex_t mutex = mutex_of(PTHREAD_MUTEX_ERRORCHECK, 0, 0);
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec real = in(CLOCK_REALTIME, 2), mono = in(CLOCK_MONOTONIC, 4);
	SHOW(pthread_cond_wait(&cond, &mutex));
	SHOW(pthread_mutex_lock(&mutex));
	SHOW(pthread_cond_timedwait(&cond, &mutex, &real));
	SHOW(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &mono));
	SHOW(pthread_mutex_unlock(&mutex));
	SHOW(pthread_cond_signal(&cond));
	SHOW(pthread_cond_broadcast(&cond));
	SHOW(pthread_cond_destroy(&cond));
}

static void others(void)
{
	pthread_spinlock_t spin;
	SHOW(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
	SHOW(pthread_spin_lock(&spin));
	in_thread(contend_spin, (void *)&spin);
	SHOW(pthread_spin_unlock(&spin));
	SHOW(pthread_spin_destroy(&spin));

	mtx_t mtx;
	printf("mtx_init %s\n", c11(mtx_init(&mtx, mtx_timed)));
	printf("mtx_lock %s\n", c11(mtx_lock(&mtx)));
	in_thread(contend_c11, &mtx);
	printf("mtx_unlock %s\n", c11(mtx_unlock(&mtx)));
	mtx_destroy(&mtx);

	pthread_t self = pthread_self();
	SHOW(pthread_join(self, NULL));
}

/* A process-shared robust mutex whose owner dies with its process. */
static void shared(void)
{
	pthread_mutex_t *mutex = mmap(NULL, sizeof *mutex, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	SHOW(pthread_mutex_init(mutex, &attr));
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		pthread_mutex_lock(mutex);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	SHOW(pthread_mutex_lock(mutex));
	SHOW(pthread_mutex_consistent(mutex));
	SHOW(pthread_mutex_unlock(mutex));
	SHOW(pthread_mutex_destroy(mutex));
}

int main(void)
{
	mutexes();
	rwlocks();
	conditions();
	others();
	shared();
	return 0;
}
