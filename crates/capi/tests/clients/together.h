#ifndef TOGETHER_H
#define TOGETHER_H
#include <sched.h>

/* For clients of THREADS threads that take a lock ROUNDS times each.
 *
 * Threads that have begun, and ended. Of what has ended the sanitizer may know no more: so nobody begins before all are
 * there, and who forgets the lock goes on until the others have ended. It does not order them. */
static int begun, ended;

static void begin(void)
{
	__atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < THREADS)
		sched_yield();
}

static int goes_on(int round, int forgets)
{
	if (!forgets)
		return round < ROUNDS;
	sched_yield();
	return __atomic_load_n(&ended, __ATOMIC_RELAXED) < THREADS - 1;
}

static void end(void)
{
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
}
#endif
