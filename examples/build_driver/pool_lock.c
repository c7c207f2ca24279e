#include "pool_lock.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#ifdef WITH_LOCKWRIGHT
#include <lockwright.h>
#endif

/* Nothing else lies in the cache lines of a lock. */
#define LOCK(kind, type, init_call, lock_call, unlock_call, destroy_call)                                               \
	static _Alignas(128) struct {                                                                                  \
		type lock;                                                                                             \
		char unused[128];                                                                                      \
	} kind;                                                                                                        \
	static void kind##_init(void)                                                                                  \
	{                                                                                                              \
		init_call;                                                                                             \
	}                                                                                                              \
	static void kind##_lock(void)                                                                                  \
	{                                                                                                              \
		lock_call(&kind.lock);                                                                                 \
	}                                                                                                              \
	static void kind##_unlock(void)                                                                                \
	{                                                                                                              \
		unlock_call(&kind.lock);                                                                               \
	}                                                                                                              \
	static void kind##_destroy(void)                                                                               \
	{                                                                                                              \
		destroy_call(&kind.lock);                                                                              \
	}

LOCK(mutex, pthread_mutex_t, pthread_mutex_init(&mutex.lock, NULL), pthread_mutex_lock, pthread_mutex_unlock,
     pthread_mutex_destroy)
LOCK(spin, pthread_spinlock_t, pthread_spin_init(&spin.lock, PTHREAD_PROCESS_PRIVATE), pthread_spin_lock,
     pthread_spin_unlock, pthread_spin_destroy)
#ifdef WITH_LOCKWRIGHT
#define LW_LOCK(kind, type) LOCK(kind, type##_t, type##_init(&kind.lock), type##_lock, type##_unlock, type##_destroy)
LW_LOCK(queued, lw_pvqspinlock_single_steal)
LW_LOCK(hybrid, lw_pvqspinlock)
LW_LOCK(unfair, lw_pvqspinlock_unfair)
#endif

#define NAMED(name, kind) {name, kind##_init, kind##_lock, kind##_unlock, kind##_destroy}

const struct pool_lock pool_locks[] = {
	NAMED("mutex", mutex),
	NAMED("spin", spin),
#ifdef WITH_LOCKWRIGHT
	NAMED("pvqspinlock", queued),
	NAMED("hybrid", hybrid),
	NAMED("unfair", unfair),
#endif
	{NULL, NULL, NULL, NULL, NULL},
};

const struct pool_lock *pool_lock_find(const char *name)
{
	for (const struct pool_lock *lock = pool_locks; lock->name; lock++) {
		if (strcmp(lock->name, name) == 0)
			return lock;
	}
	return NULL;
}
