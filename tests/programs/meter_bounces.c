/* Two threads on two CPUs take locks in turns. Arguments: ROUNDS, and the CPUs to use.
 *
 * `shared` is taken by both in turns, so that each acquisition but the first bounces; `own` by one of them alone, and
 * never does; `fought` is waited for by one while the other, on another CPU, holds it: once a round. */
#define _GNU_SOURCE
#include "meter.h"

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t fought = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t read_in_turns = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static int rounds, cpus[2];
static atomic_int turn, waiter;

SITE static void take(int me)
{
	pthread_mutex_lock(&shared);
	pthread_mutex_unlock(&shared);
	pthread_rwlock_rdlock(&read_in_turns);
	pthread_rwlock_unlock(&read_in_turns);
	if (me == 0) {
		pthread_mutex_lock(&own);
		pthread_mutex_unlock(&own);
	}
}

SITE static void fight(int me)
{
	if (me == 0) {
		atomic_store(&waiter, 0);
		pthread_mutex_lock(&fought);
		pthread_barrier_wait(&barrier);
		await_blocked(&waiter);
		pthread_mutex_unlock(&fought);
	} else {
		pthread_barrier_wait(&barrier);
		atomic_store(&waiter, thread_id());
		pthread_mutex_lock(&fought);
		pthread_mutex_unlock(&fought);
	}
	pthread_barrier_wait(&barrier);
}

static void *run(void *arg)
{
	int me = (int)(long)arg;
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpus[me], &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0)
		abort();
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < rounds; i++) {
		while (atomic_load(&turn) % 2 != me)
			sched_yield();
		take(me);
		atomic_fetch_add(&turn, 1);
	}
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < rounds; i++)
		fight(me);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	if (argc < 4)
		return 2;
	rounds = atoi(argv[1]);
	cpus[0] = atoi(argv[2]);
	cpus[1] = atoi(argv[3]);
	pthread_barrier_init(&barrier, NULL, 2);
	for (long i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i) != 0)
			abort();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	return 0;
}
