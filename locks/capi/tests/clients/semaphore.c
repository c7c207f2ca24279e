/* Threads count under a semaphore; one hands work to another by going up; a wait ends at its time. */
#include <lockwright.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 2000 };

static lw_semaphore_t one, filled;
static long count, parcel;

static void *run(void *unused)
{
	for (int round = 0; round < ROUNDS; round++) {
		if (round % 4 != 0 || lw_semaphore_trydown(&one) != 0)
			lw_semaphore_down(&one);
		count++;
		lw_semaphore_up(&one);
	}
	return unused;
}

static void *fill(void *unused)
{
	parcel = 42;
	lw_semaphore_up(&filled);
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];
	lw_semaphore_init(&one, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	pthread_create(&threads[0], NULL, fill, NULL);
	lw_semaphore_down(&filled);
	long got = parcel;
	pthread_join(threads[0], NULL);

	errno = EXDEV;
	struct timespec until = {0, 0};
	clock_gettime(CLOCK_MONOTONIC, &until);
	int late = lw_semaphore_timeddown(&filled, &until);
	until.tv_nsec = 1000000000;
	int wrong = lw_semaphore_timeddown(&filled, &until);
	printf("%ld of %d, parcel %ld, %s\n", count, THREADS * ROUNDS, got,
	       late == ETIMEDOUT && wrong == EINVAL && errno == EXDEV ? "in time" : "wrong");
	return 0;
}
