/* One thread holds a mutex until all others sleep waiting for it, and 10 ms more; then each of them holds it for 2 ms.
 * Arguments: threads, rounds. The truth: how long the waiters waited in all, and of that, how long the holder and how
 * long another waiter had the lock. Each true figure has the least that it can be, and the most (_around): what lies
 * between the lock's calls, and what lies around them. Where no processor is taken away they are the same. With -DOWN it
 * is a lock of the program's own. */
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

/* For each thread, in this round: when it asked for the lock, was seen to sleep for it, had it, was about to let it go,
 * and had let it go. */
static struct times {
	uint64_t asked, blocked, had, left, gone;
} times[MOST];

/* Times of all rounds. */
struct bounds {
	uint64_t least, most;
};

SITE static void holder(void)
{
	times[0].asked = now();
	LOCK();
	times[0].had = now();
	atomic_store(&holds, 1);
	for (int i = 1; i < threads; i++) {
		await_blocked(&ids[i]);
		times[i].blocked = now();
	}
	spin_from(now(), 10000000);
	times[0].left = now();
	UNLOCK();
	times[0].gone = now();
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
	times[i].gone = now();
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

/* When the lock was let go that thread `i` had next. */
static uint64_t freed_for(int i)
{
	uint64_t freed = 0;
	for (int j = 0; j < threads; j++)
		if (times[j].had < times[i].had && times[j].left > freed)
			freed = times[j].left;
	return freed;
}

static void add(struct bounds *sum, uint64_t least, uint64_t most)
{
	sum->least += least;
	sum->most += most;
}

static void tell(const char *name, struct bounds sum)
{
	char around[64];
	truth(name, sum.least);
	snprintf(around, sizeof(around), "%s_around", name);
	truth(around, sum.most);
}

int main(int argc, char **argv)
{
	pthread_t started[MOST];
	struct bounds wait = { 0 }, by_holder = { 0 }, by_waiter = { 0 }, hold = { 0 }, waiters_hold = { 0 };

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
		add(&hold, times[0].left - times[0].had, times[0].gone - times[0].asked);
		for (int i = 1; i < threads; i++) {
			struct times *it = &times[i];
			add(&wait, freed_for(i) - it->blocked, it->had - it->asked);
			add(&waiters_hold, it->left - it->had, it->gone - freed_for(i));
			add(&by_holder, times[0].left - it->blocked,
			    overlap(it->asked, it->had, times[0].asked, times[0].gone));
			for (int j = 1; j < threads; j++)
				if (times[j].had < it->had)
					add(&by_waiter, times[j].left - times[j].had,
					    overlap(it->asked, it->had, freed_for(j), times[j].gone));
		}
	}
	for (int i = 1; i < threads; i++)
		pthread_join(started[i], NULL);
	tell("wait", wait);
	tell("by_holder", by_holder);
	tell("by_waiter", by_waiter);
	tell("hold", hold);
	tell("waiters_hold", waiters_hold);
	return 0;
}
