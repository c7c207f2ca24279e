/* Reader-writer locks of both kinds, with threads that give up all the time: a woken thread that gives up must pass the
 * turn on, or another one waits for ever. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 8, ROUNDS = 3000 };

static pthread_rwlock_t locks[2] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP};
static long pairs[2][2], taken[2];

static struct timespec soon(unsigned *random)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_nsec += rand_r(random) % 30000;
	if (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	return time;
}

static void fail(const char *what)
{
	puts(what);
	exit(1);
}

static int take(pthread_rwlock_t *lock, int writes, unsigned *random)
{
	if (rand_r(random) % 4 == 0)
		return writes ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock);
	struct timespec time = soon(random);
	return writes ? pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &time)
		      : pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &time);
}

static void *work(void *argument)
{
	unsigned random = (unsigned)(size_t)argument;
	for (int round = 0; round < ROUNDS; round++) {
		int which = round % 2, writes = rand_r(&random) % 3 == 0;
		int error = take(&locks[which], writes, &random);
		if (error == ETIMEDOUT)
			continue;
		if (error != 0)
			fail("an error");
		long *pair = pairs[which];
		if (writes) {
			pair[0]++;
			sched_yield();
			pair[1]++;
			taken[which]++;
		} else if (pair[0] != pair[1]) {
			fail("a reader saw a writer at work");
		} else if (round % 8 == 0) {
			sched_yield();
		}
		if (pthread_rwlock_unlock(&locks[which]) != 0)
			fail("not unlocked");
	}
	return NULL;
}

static int writer_is_gone;

static void *give_up(void *argument)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_sec += 1;
	if (pthread_rwlock_clockwrlock(argument, CLOCK_MONOTONIC, &time) != ETIMEDOUT)
		fail("not given up");
	__atomic_store_n(&writer_is_gone, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void *give_way(void *argument)
{
	/* Until a writer waits. */
	while (pthread_rwlock_tryrdlock(argument) == 0) {
		pthread_rwlock_unlock(argument);
		if (__atomic_load_n(&writer_is_gone, __ATOMIC_SEQ_CST))
			return NULL;
		sched_yield();
	}
	if (pthread_rwlock_rdlock(argument) != 0 || pthread_rwlock_unlock(argument) != 0)
		fail("not read");
	return NULL;
}

/* A reader that gives way to a writer goes on when that gives up, though another reader is inside all the time. */
static void readers_go_on(pthread_rwlock_t *lock)
{
	pthread_t threads[2];
	pthread_rwlock_rdlock(lock);
	pthread_create(&threads[0], NULL, give_up, lock);
	pthread_create(&threads[1], NULL, give_way, lock);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pthread_rwlock_unlock(lock);
}

int main(void)
{
	readers_go_on(&locks[1]);
	pthread_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++) {
		if (pairs[i][0] != taken[i] || pairs[i][1] != taken[i])
			fail("two writers at once");
		if (pthread_rwlock_trywrlock(&locks[i]) != 0)
			fail("not free");
	}
	puts("free");
	return 0;
}
