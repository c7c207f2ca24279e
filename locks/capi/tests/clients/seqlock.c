/* Two numbers of one value under a sequence lock, which two threads write and two read; and what writers alone use,
 * which is no atomic. */
#include <lockwright.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { PAIRS = 2, ROUNDS = 2000 };

static lw_seqlock_t lock;
static atomic_long left, right;
static long writes;

static void *write_both(void *unused)
{
	for (int round = 0; round < ROUNDS; round++) {
		if (round % 4 != 0)
			lw_seqlock_write_lock(&lock);
		else
			while (lw_seqlock_write_trylock(&lock) == EBUSY)
				sched_yield();
		writes++;
		atomic_store_explicit(&left, writes, memory_order_relaxed);
		if (round % 64 == 0)
			sched_yield();
		atomic_store_explicit(&right, writes, memory_order_relaxed);
		lw_seqlock_write_unlock(&lock);
	}
	return unused;
}

static void *read_both(void *unused)
{
	long differ = 0;
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t begun;
		long l, r;
		do {
			begun = lw_seqlock_read_begin(&lock);
			l = atomic_load_explicit(&left, memory_order_relaxed);
			r = atomic_load_explicit(&right, memory_order_relaxed);
		} while (lw_seqlock_read_retry(&lock, begun));
		differ += l != r;
	}
	return (void *)differ;
}

int main(void)
{
	pthread_t writers[PAIRS], readers[PAIRS];
	long differ = 0;
	for (int i = 0; i < PAIRS; i++) {
		pthread_create(&writers[i], NULL, write_both, NULL);
		pthread_create(&readers[i], NULL, read_both, NULL);
	}
	for (int i = 0; i < PAIRS; i++) {
		void *result;
		pthread_join(writers[i], NULL);
		pthread_join(readers[i], &result);
		differ += (long)result;
	}
	uint32_t begun = lw_seqlock_read_begin(&lock);
	int before = lw_seqlock_read_retry(&lock, begun);
	lw_seqlock_write_lock(&lock);
	lw_seqlock_write_unlock(&lock);
	int after = lw_seqlock_read_retry(&lock, begun);
	lw_seqlock_destroy(&lock);
	printf("%ld of %d, %ld differ, retry %d then %d\n", writes, PAIRS * ROUNDS, differ, before, after);
	return 0;
}
