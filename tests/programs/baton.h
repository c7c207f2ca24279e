/* Taking turns in a way that no tool sees: threads run one after the other in the test, but nothing that counts as
 * synchronisation says that they must. (A semaphore or a barrier would, and the report would grade accordingly.) */
#ifndef BATON_H
#define BATON_H
#include <sched.h>
#include <stdatomic.h>

typedef atomic_int baton;

static inline void baton_pass(baton *b)
{
	atomic_fetch_add(b, 1);
}

static inline void baton_take(baton *b)
{
	int n;
	do {
		sched_yield();
		n = atomic_load(b);
	} while (n == 0 || !atomic_compare_exchange_strong(b, &n, n - 1));
}

/* As pthread_barrier_t. */
struct meeting {
	int size;
	atomic_int here, round;
};

static inline void meeting_wait(struct meeting *m)
{
	int round = atomic_load(&m->round);
	if (atomic_fetch_add(&m->here, 1) + 1 == m->size) {
		atomic_store(&m->here, 0);
		atomic_store(&m->round, round + 1);
	} else {
		while (atomic_load(&m->round) == round)
			sched_yield();
	}
}
#endif
