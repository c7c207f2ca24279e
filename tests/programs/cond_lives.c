/* Lives of condition variables. Their bytes alone show what is right and what is not.
 *
 *     cond_lives CASE
 *
 * Right: twice, twice_heap, twice_cnd, pingpong, broadcast, timed, monotonic, shared, reused
 * Wrong: destroyed, destroyed_twice, destroyed_broadcast, garbage
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int turn, rounds = 25;

/* Two lives at one address, each initialised statically and destroyed once. */

__attribute__((noinline)) static void life(void)
{
	pthread_cond_t local = PTHREAD_COND_INITIALIZER;

	pthread_cond_signal(&local);
	pthread_cond_destroy(&local);
}

static void twice(void)
{
	life();
	life();
}

static void twice_heap(void)
{
	for (int i = 0; i < 3; i++) {
		pthread_cond_t *cond = calloc(1, sizeof *cond);

		pthread_cond_broadcast(cond);
		pthread_cond_destroy(cond);
		free(cond);
	}
}

static void twice_cnd(void)
{
	for (int i = 0; i < 2; i++) {
		cnd_t cond;

		cnd_init(&cond);
		cnd_signal(&cond);
		cnd_destroy(&cond);
	}
}

/* Waits and signals, which change every counter that there is. */

static void *other(void *unused)
{
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < rounds; i++) {
		while (turn != 1)
			pthread_cond_wait(&ready, &mutex);
		turn = 0;
		pthread_cond_signal(&ready);
	}
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void pingpong(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, other, NULL);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < rounds; i++) {
		turn = 1;
		pthread_cond_signal(&ready);
		while (turn != 0)
			pthread_cond_wait(&ready, &mutex);
	}
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	pthread_cond_destroy(&ready);
}

static int waiting;

static void *waiter(void *unused)
{
	pthread_mutex_lock(&mutex);
	int seen = turn;

	waiting++;
	while (turn == seen)
		pthread_cond_wait(&ready, &mutex);
	waiting--;
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void broadcast(void)
{
	for (int round = 0; round < 6; round++) {
		pthread_t threads[3];
		int come = 0;

		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, waiter, NULL);
		while (come < 3) {
			pthread_mutex_lock(&mutex);
			come = waiting;
			pthread_mutex_unlock(&mutex);
		}
		pthread_mutex_lock(&mutex);
		turn++;
		pthread_cond_broadcast(&ready);
		pthread_mutex_unlock(&mutex);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
	}
	pthread_cond_destroy(&ready);
}

static void times_out(pthread_cond_t *cond, clockid_t clock)
{
	struct timespec until;

	clock_gettime(clock, &until);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 9; i++) {
		pthread_cond_timedwait(cond, &mutex, &until);
		pthread_cond_signal(cond);
	}
	pthread_mutex_unlock(&mutex);
	pthread_cond_destroy(cond);
}

static void timed(void)
{
	times_out(&ready, CLOCK_REALTIME);
}

static void with(int shared, clockid_t clock, pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setpshared(&attr, shared);
	pthread_condattr_setclock(&attr, clock);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
	times_out(cond, clock);
}

static void monotonic(void)
{
	pthread_cond_t cond;

	for (int i = 0; i < 2; i++)
		with(PTHREAD_PROCESS_PRIVATE, CLOCK_MONOTONIC, &cond);
}

static void shared(void)
{
	pthread_cond_t *cond = mmap(NULL, sizeof *cond, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 2; i++)
		with(PTHREAD_PROCESS_SHARED, CLOCK_MONOTONIC, cond);
}

/* The memory is another object's in between. */
static void reused(void)
{
	void *place = calloc(1, 64);

	pthread_cond_signal(place);
	pthread_cond_destroy(place);
	memset(place, 0, 64);
	pthread_mutex_lock(place);
	pthread_mutex_unlock(place);
	pthread_mutex_destroy(place);
	memset(place, 0, 64);
	pthread_cond_signal(place);
	pthread_cond_destroy(place);
	free(place);
}

/* Planted. */

static void destroyed_by(int (*use)(pthread_cond_t *))
{
	pthread_cond_t *cond = calloc(1, sizeof *cond);

	pthread_cond_signal(cond);
	pthread_cond_destroy(cond);
	use(cond);
}

static void destroyed(void)
{
	destroyed_by(pthread_cond_signal);
}

static void destroyed_broadcast(void)
{
	destroyed_by(pthread_cond_broadcast);
}

static void destroyed_twice(void)
{
	destroyed_by(pthread_cond_destroy);
}

/* No condition variable has such bytes, in any layout. A signal changes nothing: by the count there
 * are no waiters. */
static void garbage(void)
{
	pthread_cond_t *cond = malloc(sizeof *cond);

	memset(cond, 0, sizeof *cond);
	for (int at = 28; at <= 36; at += 8)
		((char *)cond)[at] = 4;
	pthread_cond_signal(cond);
	free(cond);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
#define CASE(name) { #name, name }
	CASE(twice), CASE(twice_heap), CASE(twice_cnd), CASE(pingpong), CASE(broadcast),
	CASE(timed), CASE(monotonic), CASE(shared), CASE(reused), CASE(destroyed),
	CASE(destroyed_broadcast), CASE(destroyed_twice), CASE(garbage),
};

int main(int argc, char **argv)
{
	for (unsigned i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			return 0;
		}
	fprintf(stderr, "usage: cond_lives CASE\n");
	return 2;
}
