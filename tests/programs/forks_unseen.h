/* Locks, each of which is made and used in a place of its own. */
#include <pthread.h>

#define WAYS 6

static void make_lock(void)
{
	pthread_mutex_t lock;

	pthread_mutex_init(&lock, NULL);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_mutex_destroy(&lock);
}

/* Two calls at each level: 2^WAYS ways down. */
__attribute__((noinline, noclone, optimize("O0"))) static void make_locks_below(int level)
{
	if (level == WAYS) {
		make_lock();
		return;
	}
	make_locks_below(level + 1);
	make_locks_below(level + 1);
}

static inline void make_locks(void)
{
	make_locks_below(0);
}
