/* One thread holds a mutex until all others sleep waiting for it, and 10 ms more; then each of them holds it for 2 ms.
 * Arguments: threads, rounds. The truth: how long the waiters waited in all, and of that, how long the holder and how
 * long another waiter had the lock. With -DOWN it is a lock of the program's own. */
#include "meter.h"
#ifdef OWN
#include "own.h"
#endif

enum { MOST = 16 };

#ifdef OWN
static struct own lock;
#define LOCK() own_lock(&lock)
#define UNLOCK() own_unlock(&lock)
#else
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define LOCK() pthread_mutex_lock(&lock)
#define UNLOCK() pthread_mutex_unlock(&lock)
#endif
static pthread_barrier_t ready, done;
static int threads, rounds;
static atomic_int ids[MOST];
static atomic_int holds;

/* Of each thread, in this round: when it began to wait, had the lock, and let it go. */
static struct times {
	uint64_t asked, had, left;
} times[MOST];

SITE static void holder(void)
{
	LOCK();
	times[0].had = now();
	atomic_store(&holds, 1);
	for (int i = 1; i < threads; i++)
		await_blocked(&ids[i]);
	spin_from(now(), 10000000);
	times[0].left = now();
	UNLOCK();
	NO_TAIL_CALL;
}

SITE static void waiter(int i)
{
	while (!atomic_load(&holds))
		;
	times[i].asked = now();
	atomic_store(&ids[i], thread_id());
	LOCK();
	times[i].had = now();
	times[i].left = spin_from(times[i].had, 2000000);
	UNLOCK();
	NO_TAIL_CALL;
}

static void *work(void *arg)
{
	int i = (int)(intptr_t)arg;
	for (int round = 0; round < rounds; round++) {
		pthread_barrier_wait(&ready);
		waiter(i);
		pthread_barrier_wait(&done);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t started[MOST];
	uint64_t wait = 0, by_holder = 0, by_waiter = 0, hold = 0, waiters_hold = 0;

	threads = argc > 1 ? atoi(argv[1]) : 2;
	rounds = argc > 2 ? atoi(argv[2]) : 1;
	if (threads > MOST)
		return 2;
	pthread_barrier_init(&ready, NULL, (unsigned)threads);
	pthread_barrier_init(&done, NULL, (unsigned)threads);
	for (int i = 1; i < threads; i++)
		pthread_create(&started[i], NULL, work, (void *)(intptr_t)i);
	for (int round = 0; round < rounds; round++) {
		atomic_store(&holds, 0);
		for (int i = 1; i < threads; i++)
			atomic_store(&ids[i], 0);
		pthread_barrier_wait(&ready);
		holder();
		pthread_barrier_wait(&done);
		hold += times[0].left - times[0].had;
		for (int i = 1; i < threads; i++) {
			wait += times[i].had - times[i].asked;
			waiters_hold += times[i].left - times[i].had;
			for (int j = 0; j < threads; j++) {
				uint64_t part = overlap(times[i].asked, times[i].had, times[j].had, times[j].left);
				if (j == 0)
					by_holder += part;
				else if (j != i)
					by_waiter += part;
			}
		}
	}
	for (int i = 1; i < threads; i++)
		pthread_join(started[i], NULL);
	truth("wait", wait);
	truth("by_holder", by_holder);
	truth("by_waiter", by_waiter);
	truth("hold", hold);
	truth("waiters_hold", waiters_hold);
	return 0;
}
