/* A queue of one with a condition variable and a mutex, the hybrid ones with -DKIND=hybrid_; completions; waits that end
 * at their times. */
#include <lockwright.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#ifndef KIND
#define KIND
#endif
#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define OF(what) JOIN(lw_, KIND, what)

enum { ROUNDS = 2000 };

static OF(mutex_t) lock;
static OF(condvar_t) full, empty;
static int there;
static long item, sum;

static lw_completion_t done, all;
static long parcel;

static void *produce(void *unused)
{
	for (int i = 1; i <= ROUNDS; i++) {
		OF(mutex_lock)(&lock);
		while (there)
			OF(condvar_wait)(&empty, &lock);
		item = i;
		there = 1;
		OF(condvar_signal)(&full);
		OF(mutex_unlock)(&lock);
	}
	parcel = 42;
	lw_completion_complete(&done);
	lw_completion_complete_all(&all);
	return unused;
}

static void *await_all(void *unused)
{
	lw_completion_wait(&all);
	return parcel == 42 ? NULL : unused;
}

int main(void)
{
	pthread_t producer, waiter;
	pthread_create(&producer, NULL, produce, NULL);
	pthread_create(&waiter, NULL, await_all, &lock);
	for (int i = 1; i <= ROUNDS; i++) {
		OF(mutex_lock)(&lock);
		while (!there)
			OF(condvar_wait)(&full, &lock);
		sum += item;
		there = 0;
		OF(condvar_broadcast)(&empty);
		OF(mutex_unlock)(&lock);
	}
	lw_completion_wait(&done);
	long got = parcel;
	void *wrong;
	pthread_join(producer, NULL);
	pthread_join(waiter, &wrong);

	errno = EXDEV;
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	OF(mutex_lock)(&lock);
	int late = OF(condvar_timedwait)(&full, &lock, &until) == ETIMEDOUT;
	late += OF(mutex_trylock)(&lock) == EBUSY;
	OF(mutex_unlock)(&lock);
	late += lw_completion_timedwait(&done, &until) == ETIMEDOUT;
	late += lw_completion_trywait(&done) == EBUSY;
	late += lw_completion_trywait(&all) == 0;
	printf("%ld, parcel %ld, %s\n", sum, got, late == 5 && wrong == NULL && errno == EXDEV ? "in time" : "wrong");
	return 0;
}
