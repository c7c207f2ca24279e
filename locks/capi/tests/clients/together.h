#ifndef TOGETHER_H
#define TOGETHER_H
#include <sched.h>

/* For clients of THREADS threads that take a lock ROUNDS times each.
 *
 * Threads that have begun, and ended, and whether one has gone without the lock. The sanitizer may forget threads that
 * have ended. So no thread begins before all have started, and the one that forgets the lock runs until the others have
 * ended. Nor does the sanitizer remember all that a thread has read. So the others begin when that one has begun. None
 * of it orders them. */
static int begun, ended, forgotten;

static void begin(void)
{
	__atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < THREADS)
		sched_yield();
}

static int goes_on(int round, int forgets)
{
	if (forgets) {
		if (round > 0)
			__atomic_store_n(&forgotten, 1, __ATOMIC_RELAXED);
		sched_yield();
		return __atomic_load_n(&ended, __ATOMIC_RELAXED) < THREADS - 1;
	}
#ifdef FORGETS
	while (!__atomic_load_n(&forgotten, __ATOMIC_RELAXED))
		sched_yield();
#endif
	return round < ROUNDS;
}

static void end(void)
{
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
}
#endif
