/* Attributes of threads and of what they synchronise with, used as they may be and as they may not. Argument:
 *
 *   clean            all of them, copies and what was never destroyed too; a spinlock that says that it is shared
 *   TYPE-destroyed   used after it was destroyed; TYPE is attr, mutexattr, rwlockattr, condattr or barrierattr
 *   TYPE-twice       destroyed twice
 *   TYPE-garbage     used, and never initialised
 *   left             freed, and never destroyed
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE __attribute__((noinline, noclone, unused))
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")

static void *idle(void *arg)
{
	return arg;
}

SITE static void start_with(const pthread_attr_t *attr)
{
	pthread_t thread;
	if (pthread_create(&thread, attr, idle, NULL) == 0)
		pthread_join(thread, NULL);
	NO_TAIL_CALL;
}

SITE static void mutex_with(const pthread_mutexattr_t *attr)
{
	pthread_mutex_t mutex;
	pthread_mutex_init(&mutex, attr);
	pthread_mutex_destroy(&mutex);
	NO_TAIL_CALL;
}

SITE static void rwlock_with(const pthread_rwlockattr_t *attr)
{
	pthread_rwlock_t rwlock;
	pthread_rwlock_init(&rwlock, attr);
	pthread_rwlock_destroy(&rwlock);
	NO_TAIL_CALL;
}

SITE static void cond_with(const pthread_condattr_t *attr)
{
	pthread_cond_t cond;
	pthread_cond_init(&cond, attr);
	pthread_cond_destroy(&cond);
	NO_TAIL_CALL;
}

SITE static void barrier_with(const pthread_barrierattr_t *attr)
{
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, attr, 1);
	pthread_barrier_destroy(&barrier);
	NO_TAIL_CALL;
}

/* Never destroyed, and the next call has it at the same place. */
SITE static void forgets(void)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	mutex_with(&attr);
	NO_TAIL_CALL;
}

/* A copy, destroyed as if it were the real one. */
SITE static void copies(const pthread_mutexattr_t *of)
{
	pthread_mutexattr_t attr = *of;
	mutex_with(&attr);
	pthread_mutexattr_destroy(&attr);
	NO_TAIL_CALL;
}

/* One that is initialised by its bytes alone, where another function's was. */
SITE static void by_bytes(void)
{
	pthread_mutexattr_t attr;
	memset(&attr, 0, sizeof attr);
	mutex_with(&attr);
	NO_TAIL_CALL;
}

SITE static void properly(void)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	mutex_with(&attr);
	pthread_mutexattr_destroy(&attr);
	NO_TAIL_CALL;
}

static void clean(void)
{
	static pthread_attr_t zeroed;
	static pthread_mutexattr_t shared;
	pthread_attr_t attr;
	pthread_rwlockattr_t rwlockattr;
	pthread_condattr_t condattr;
	pthread_barrierattr_t barrierattr;
	pthread_spinlock_t spin;

	pthread_spin_init(&spin, PTHREAD_PROCESS_SHARED);
	pthread_spin_lock(&spin);
	pthread_spin_unlock(&spin);
	pthread_spin_destroy(&spin);

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 20);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_JOINABLE);
	pthread_attr_setguardsize(&attr, 8192);
	start_with(&attr);
	start_with(&attr);
	pthread_attr_t copy = attr;
	start_with(&copy);
	pthread_attr_destroy(&attr);
	pthread_attr_init(&attr);
	start_with(&attr);
	pthread_attr_destroy(&attr);
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_setstacksize(&attr, 1 << 20);
	pthread_attr_destroy(&attr);
	pthread_attr_setdetachstate(&zeroed, PTHREAD_CREATE_JOINABLE);
	start_with(NULL);

	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setprotocol(&shared, PTHREAD_PRIO_INHERIT);
	pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_settype(&shared, PTHREAD_MUTEX_ERRORCHECK);
	for (int i = 0; i < 3; i++) {
		forgets();
		copies(&shared);
		copies(&shared);
		properly();
		by_bytes();
	}
	pthread_mutexattr_destroy(&shared);

	pthread_rwlockattr_init(&rwlockattr);
	pthread_rwlockattr_setkind_np(&rwlockattr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlockattr_setpshared(&rwlockattr, PTHREAD_PROCESS_SHARED);
	rwlock_with(&rwlockattr);
	pthread_rwlockattr_destroy(&rwlockattr);

	pthread_condattr_init(&condattr);
	pthread_condattr_setclock(&condattr, CLOCK_MONOTONIC);
	pthread_condattr_setpshared(&condattr, PTHREAD_PROCESS_SHARED);
	cond_with(&condattr);
	pthread_condattr_destroy(&condattr);

	pthread_barrierattr_init(&barrierattr);
	pthread_barrierattr_setpshared(&barrierattr, PTHREAD_PROCESS_SHARED);
	barrier_with(&barrierattr);
	pthread_barrierattr_destroy(&barrierattr);
}

/* TYPE-destroyed, TYPE-twice, TYPE-garbage, where TYPE's name goes with that of a function that sets something. */
#define CASES(type, set, value, use_it)                                                                                \
	SITE static int type##_cases(const char *what)                                                                 \
	{                                                                                                              \
		pthread_##type##_t it;                                                                                 \
		if (!strcmp(what, #type "-destroyed")) {                                                               \
			pthread_##type##_init(&it);                                                                    \
			pthread_##type##_destroy(&it);                                                                 \
			use_it(&it);                                                                                   \
		} else if (!strcmp(what, #type "-twice")) {                                                            \
			pthread_##type##_init(&it);                                                                    \
			pthread_##type##_destroy(&it);                                                                 \
			pthread_##type##_destroy(&it);                                                                 \
		} else if (!strcmp(what, #type "-garbage")) {                                                          \
			memset(&it, 0xaa, sizeof it);                                                                  \
			pthread_##type##_##set(&it, value);                                                            \
		} else {                                                                                               \
			return 0;                                                                                      \
		}                                                                                                      \
		return 1;                                                                                              \
	}

CASES(attr, setdetachstate, PTHREAD_CREATE_JOINABLE, start_with)
CASES(mutexattr, settype, PTHREAD_MUTEX_RECURSIVE, mutex_with)
CASES(rwlockattr, setpshared, PTHREAD_PROCESS_PRIVATE, rwlock_with)
CASES(condattr, setclock, CLOCK_MONOTONIC, cond_with)
CASES(barrierattr, setpshared, PTHREAD_PROCESS_PRIVATE, barrier_with)

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "clean")) {
		clean();
	} else if (!strcmp(what, "left")) {
		pthread_attr_t *attr = malloc(sizeof *attr);
		pthread_attr_init(attr);
		start_with(attr);
		free(attr);
	} else if (!attr_cases(what) && !mutexattr_cases(what) && !rwlockattr_cases(what) && !condattr_cases(what) &&
		   !barrierattr_cases(what)) {
		return 2;
	}
	return 0;
}
