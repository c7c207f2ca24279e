/* Threads count under one lock, -DNAME=mutex say, which begins as zeroed memory. With -DFORGETS the last of them
 * does not take it; with -DRECURSIVE its holder may take it again; with -DIRQSAVE they block signals meanwhile. */
#include <lockwright.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 2000 };

#include "together.h"

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define OF(what) JOIN(lw_, NAME, what)

static OF(_t) lock;
static long count;

#ifdef IRQSAVE
static _Thread_local uint64_t flags;
#define TAKE(lock) OF(_lock_irqsave)(lock, &flags)
#define TRY(lock) OF(_trylock_irqsave)(lock, &flags)
#define GIVE(lock) OF(_unlock_irqrestore)(lock, flags)
#else
#define TAKE OF(_lock)
#define TRY OF(_trylock)
#define GIVE OF(_unlock)
#endif

static void take(int round)
{
	if (round % 4 == 0) {
		while (TRY(&lock) == EBUSY)
			sched_yield();
	} else if (TAKE(&lock) != 0) {
		puts("lock failed");
	}
}

static void *run(void *forgets)
{
	begin();
	for (int round = 0; goes_on(round, forgets != NULL); round++) {
		if (forgets == NULL)
			take(round);
		long seen = count;
		if (round % 64 == 0)
			sched_yield();
		count = seen + 1;
		if (forgets == NULL)
			GIVE(&lock);
	}
	end();
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++) {
		void *forgets = NULL;
#ifdef FORGETS
		forgets = i == THREADS - 1 ? &lock : NULL;
#endif
		pthread_create(&threads[i], NULL, run, forgets);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	errno = EXDEV;
	OF(_lock)(&lock);
	int taken = OF(_trylock)(&lock);
#ifdef RECURSIVE
	OF(_unlock)(&lock);
	taken = taken == 0 ? EBUSY : 0;
#endif
	OF(_unlock)(&lock);
	OF(_destroy)(&lock);
	printf("%ld of %d, then %s\n", count, THREADS * ROUNDS, taken == EBUSY && errno == EXDEV ? "busy" : "wrong");
	return 0;
}
