/* Counts under each sort of pthread lock, and lets others run between reading a count and writing it: threads that the lock
 * does not keep apart lose counts. Ends with 1 if any is lost. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 250, YIELDS = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t begin;
static volatile long counts[3];

static void one_more(volatile long *count)
{
	long seen = *count;
	for (int i = 0; i < YIELDS; i++)
		sched_yield();
	*count = seen + 1;
}

static void *work(void *argument)
{
	pthread_barrier_wait(&begin);
	for (int round = 0; round < ROUNDS; round++) {
		pthread_mutex_lock(&mutex);
		one_more(&counts[0]);
		pthread_mutex_unlock(&mutex);
		pthread_rwlock_wrlock(&rwlock);
		one_more(&counts[1]);
		pthread_rwlock_unlock(&rwlock);
		pthread_spin_lock(&spin);
		one_more(&counts[2]);
		pthread_spin_unlock(&spin);
	}
	return argument;
}

int main(void)
{
	pthread_t threads[THREADS];
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&begin, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	int lost = 0;
	const char *const names[] = { "mutex", "rwlock", "spinlock" };
	for (int i = 0; i < 3; i++) {
		int is_right = counts[i] == THREADS * ROUNDS;
		printf("%s: %s\n", names[i], is_right ? "right" : "counts are lost");
		lost |= !is_right;
	}
	return lost;
}
