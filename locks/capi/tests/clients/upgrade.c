/* Threads read a sum and add to it what they have read of it, with the hybrid reader-writer lock: upgraded in between, at
 * once or after a wait. With -DFORGETS they do not upgrade. */
#include <lockwright.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 1000 };

static lw_hybrid_rwlock_t lock;
static long sum;
static long others; /* attempts that came to nothing, and had to */

static void add(int round)
{
	lw_hybrid_rwlock_upgradable_lock(&lock);
	long seen = sum;
#ifdef FORGETS
	sum = seen + 1;
	lw_hybrid_rwlock_upgradable_unlock(&lock);
	(void)round;
#else
	if (round % 2 != 0 || lw_hybrid_rwlock_tryupgrade(&lock) == EBUSY)
		lw_hybrid_rwlock_upgrade(&lock);
	sum = seen + 1;
	if (round % 3 == 0) {
		lw_hybrid_rwlock_downgrade_to_upgradable(&lock);
		lw_hybrid_rwlock_upgradable_unlock(&lock);
	} else {
		lw_hybrid_rwlock_write_unlock(&lock);
	}
#endif
}

static void *run(void *result)
{
	long *seen = result;
	for (int round = 0; round < ROUNDS; round++) {
		add(round);
		lw_hybrid_rwlock_read_lock(&lock);
		lw_hybrid_rwlock_read_lock_recursive(&lock);
		*seen = sum;
		lw_hybrid_rwlock_read_unlock(&lock);
		lw_hybrid_rwlock_read_unlock(&lock);
	}
	return NULL;
}

static void *attempt(void *unused)
{
	others += lw_hybrid_rwlock_upgradable_trylock(&lock) == EBUSY;
	others += lw_hybrid_rwlock_write_trylock(&lock) == EBUSY;
	if (lw_hybrid_rwlock_read_trylock(&lock) == 0) {
		others++;
		lw_hybrid_rwlock_read_unlock(&lock);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];
	long seen[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, &seen[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	lw_hybrid_rwlock_upgradable_lock(&lock);
	pthread_create(&threads[0], NULL, attempt, NULL);
	pthread_join(threads[0], NULL);
	int upgraded = lw_hybrid_rwlock_tryupgrade(&lock) == 0;
	lw_hybrid_rwlock_downgrade(&lock);
	lw_hybrid_rwlock_read_unlock(&lock);
	lw_hybrid_rwlock_destroy(&lock);
	printf("%ld of %d, %s\n", sum, THREADS * ROUNDS, others == 3 && upgraded ? "upgraded" : "wrong");
	return 0;
}
