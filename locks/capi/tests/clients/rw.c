/* Readers and writers of one lock, -DNAME=rwsem with -DREAD=_down_read and the like, which begins as zeroed memory.
 * With -DFORGETS the last reader does not take it. */
#include <lockwright.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 1000 };

#include "together.h"

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define OF(what) JOIN(lw_, NAME, what)

static OF(_t) lock;
static long left, right; /* the same for all readers */

static void *write_both(void *unused)
{
	begin();
	for (int round = 0; goes_on(round, 0); round++) {
		if (round % 4 != 0)
			OF(WRITE)(&lock);
		else
			while (OF(TRY_WRITE)(&lock) == EBUSY)
				sched_yield();
		left++;
		if (round % 64 == 0)
			sched_yield();
		right++;
		OF(UNWRITE)(&lock);
	}
	end();
	return unused;
}

static void *read_both(void *forgets)
{
	long differ = 0;

	begin();
	for (int round = 0; goes_on(round, forgets != NULL); round++) {
		if (forgets == &lock)
			;
		else if (round % 4 != 0)
			OF(READ)(&lock);
		else
			while (OF(TRY_READ)(&lock) == EBUSY)
				sched_yield();
		differ += left != right;
		if (forgets != &lock)
			OF(UNREAD)(&lock);
	}
	end();
	return (void *)differ;
}

/* Reads as well as the caller. */
static void *join_in(void *result)
{
	int *results = result;
	results[0] = OF(TRY_READ)(&lock);
	if (results[0] == 0)
		OF(UNREAD)(&lock);
	results[1] = OF(TRY_WRITE)(&lock);
	return NULL;
}

int main(void)
{
	pthread_t writers[THREADS / 2], readers[THREADS / 2];
	long differ = 0;
	for (int i = 0; i < THREADS / 2; i++) {
		void *forgets = NULL;
#ifdef FORGETS
		forgets = i == 0 ? &lock : NULL;
#endif
		pthread_create(&writers[i], NULL, write_both, NULL);
		pthread_create(&readers[i], NULL, read_both, forgets);
	}
	for (int i = 0; i < THREADS / 2; i++) {
		void *result;
		pthread_join(writers[i], NULL);
		pthread_join(readers[i], &result);
		differ += (long)result;
	}
	int shared[2], alone[2];
	OF(READ)(&lock);
	pthread_create(&readers[0], NULL, join_in, shared);
	pthread_join(readers[0], NULL);
	OF(UNREAD)(&lock);
	OF(WRITE)(&lock);
	pthread_create(&readers[0], NULL, join_in, alone);
	pthread_join(readers[0], NULL);
#ifdef DOWNGRADE
	OF(DOWNGRADE)(&lock);
	OF(UNREAD)(&lock);
#else
	OF(UNWRITE)(&lock);
#endif
	OF(_destroy)(&lock);
	printf("%ld of %d, %ld differ, %s, %s\n", left, THREADS / 2 * ROUNDS, differ,
	       shared[0] == 0 && shared[1] == EBUSY ? "shared" : "wrong",
	       alone[0] == EBUSY && alone[1] == EBUSY ? "alone" : "wrong");
	return 0;
}
